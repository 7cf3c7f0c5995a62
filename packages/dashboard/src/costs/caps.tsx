import type { BudgetStanding, Counted } from '../api/answers.ts';
import { formatCount, formatUsd } from '../ui/format.ts';
import { Badge } from '../ui/status-badge.tsx';

/** What today and the session have used of their caps: money, and what else is capped. */
export function Caps({ budget }: { budget: readonly BudgetStanding[] }) {
  return (
    <>
      {budget.map((standing) => (
        <div key={`${standing.scope}:${standing.scopeId}`} className="cap-scope">
          <h3>
            {standing.scope === 'day' ? `Today, ${standing.scopeId} (UTC)` : `Session ${standing.scopeId}`}
          </h3>
          <MoneyCap standing={standing} />
          {COUNTED.map((counted) => (
            <CountCap key={counted} standing={standing} counted={counted} />
          ))}
        </div>
      ))}
      <p className="faint small">
        A cap is set in caisson.yaml under <code>budget:</code>, or for one run with <code>--budget</code>.
      </p>
    </>
  );
}

const COUNTED = ['tokens', 'turns', 'toolCalls'] as const;
const WORDS: Readonly<Record<Counted, string>> = {
  tokens: 'tokens',
  turns: 'turns',
  toolCalls: 'tool calls',
};

function MoneyCap({ standing }: { standing: BudgetStanding }) {
  const { spentUsd, reservedUsd, ceilingUsd, unknownCosts } = standing;
  const unknown = unknownCosts > 0 ? ` + ${unknownCosts} unknown` : '';
  const words = `${formatUsd(spentUsd)}${unknown} spent, ${formatUsd(reservedUsd)} reserved`;
  if (ceilingUsd === null) return <p>{words}, no cap</p>;
  return (
    <CapBar used={spentUsd + reservedUsd} cap={ceilingUsd} label="Spent and reserved of the cap">
      {`${words} of ${formatUsd(ceilingUsd)}`}
    </CapBar>
  );
}

/** A cap on a count is shown only where one is set. */
function CountCap({ standing, counted }: { standing: BudgetStanding; counted: Counted }) {
  const cap = standing.countCaps?.[counted];
  if (cap === undefined) return null;
  const used = standing.countsUsed?.[counted];
  const words = WORDS[counted];
  if (used === undefined) return <p>{`unknown of ${formatCount(cap)} ${words}`}</p>;
  return (
    <CapBar used={used} cap={cap} label={`Used of the cap on ${words}`}>
      {`${formatCount(used)} of ${formatCount(cap)} ${words}`}
    </CapBar>
  );
}

interface CapBarProps {
  readonly used: number;
  readonly cap: number;
  readonly label: string;
  readonly children: string;
}

/** From here on the bar warns. */
const NEARLY = 0.9;

function CapBar({ used, cap, label, children }: CapBarProps) {
  return (
    <p className="actions">
      <meter min={0} max={cap} high={cap * NEARLY} optimum={0} value={used} aria-label={label} />
      {children}
      {used >= cap ? <Badge tone="bad">reached</Badge> : null}
    </p>
  );
}
