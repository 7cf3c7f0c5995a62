import type { DispatchResult } from '@caisson/protocol';
import { AgentText, withoutStyles } from '../ui/agent-text.tsx';
import { formatMs } from '../ui/format.ts';
import { Section } from '../ui/section.tsx';
import { Badge } from '../ui/status-badge.tsx';

/** The report of `--verify`. */
export function CheckSection({ run: { result, live } }: { run: DispatchResult }) {
  if (live !== undefined) return null;
  const verify = result?.verify;
  if (verify === undefined)
    return (
      <Section title="Check">
        <p className="faint">
          Its work was not checked. <code>caisson run --verify "npm test"</code> runs a check on the patch
          alone.
        </p>
      </Section>
    );
  return (
    <Section
      title="Check"
      tools={<Badge tone={verify.passed ? 'ok' : 'bad'}>{verify.passed ? 'passed' : 'failed'}</Badge>}
    >
      <p className="faint">
        {verify.lens}, {formatMs(verify.durationMs)}
      </p>
      <AgentText text={withoutStyles(verify.report)} label="Report of the check" />
    </Section>
  );
}
