import { useState } from 'react';
import type { SpendRow } from '../api/answers.ts';
import { useQueryParams } from '../router/location.ts';
import { DataTable, type Column } from '../ui/data-table.tsx';
import { Facts } from '../ui/facts.tsx';
import { formatCount, formatUsd, plural, usesModel } from '../ui/format.ts';
import { CutNotice, EmptyState, Loading, ProblemNotice } from '../ui/notices.tsx';
import { Section } from '../ui/section.tsx';
import { Caps } from './caps.tsx';
import { DayChart } from './day-chart.tsx';
import {
  agentOf,
  byCost,
  fillDays,
  formatSum,
  groupSpend,
  modelsOf,
  sumSpend,
  type SpendSum,
} from './group-spend.ts';
import { useCosts, type Costs } from './use-costs.ts';

const GROUPS: Readonly<Record<string, (row: SpendRow) => string>> = {
  Agent: agentOf,
  Model: modelsOf,
  Session: ({ session }) => session ?? 'without a session',
};

export function CostsPage() {
  const [params, change] = useQueryParams();
  const session = params.get('session') ?? '';
  const { value, problem } = useCosts(session);
  return (
    <div className="page">
      <div className="spread">
        <h1>Costs</h1>
        <label className="field">
          Session
          <input
            type="search"
            value={session}
            onChange={(event) => change({ session: event.target.value })}
          />
        </label>
      </div>
      <ProblemNotice problem={problem} />
      {value?.isCut === true ? (
        <CutNotice what="runs" rest="Choose a session to add up its older runs." />
      ) : null}
      {value === null && problem === null ? <Loading what="the costs" /> : null}
      {value === null ? null : <CostsBody costs={value} />}
    </div>
  );
}

function CostsBody({ costs }: { costs: Costs }) {
  const [group, setGroup] = useState('Agent');
  const nameOf = GROUPS[group] ?? modelsOf;
  const days = groupSpend(costs.spend, ({ day }) => day).toSorted((a, b) => a.name.localeCompare(b.name));
  return (
    <>
      <Now costs={costs} />
      <Section title="Caps">
        <Caps budget={costs.budget} />
      </Section>
      {costs.spend.length === 0 ? (
        <NothingSpent />
      ) : (
        <>
          <Section title="By day">
            <DayChart days={fillDays(days, Date.now())} />
            <SpendTable label="By day" title="Day (UTC)" sums={days.toReversed()} />
          </Section>
          <Section
            title={`By ${group.toLowerCase()}`}
            tools={<GroupChoice group={group} onChange={setGroup} />}
          >
            <SpendTable
              label={`By ${group}`}
              title={group}
              sums={groupSpend(costs.spend, nameOf).toSorted(byCost)}
            />
          </Section>
        </>
      )}
    </>
  );
}

function Now({ costs: { spend, recent } }: { costs: Costs }) {
  const today = new Date().toISOString().slice(0, 10);
  const sum = sumSpend(
    today,
    spend.filter(({ day }) => day === today),
  );
  const asking = recent.filter(usesModel);
  const known = asking.flatMap((run) => run.costUsd ?? run.live?.costUsd ?? []);
  const unknown = asking.length - known.length;
  const rate =
    asking.length > 0 && known.length === 0 ? null : known.reduce((total, cost) => total + cost, 0);
  return (
    <Facts
      facts={[
        ['Today (UTC)', <SumWords key="today" sum={sum} />],
        [
          'Burn rate, last hour',
          `${formatUsd(rate)}${rate === null ? '' : ' an hour'}, ${plural(recent.length, 'run')}${unknown > 0 && rate !== null ? `, ${unknown} unknown` : ''}`,
        ],
        ['All that is listed', <SumWords key="all" sum={sumSpend('all', spend)} />],
      ]}
    />
  );
}

function SumWords({ sum }: { sum: SpendSum }) {
  if (sum.runs === 0) return 'nothing';
  return (
    <>
      {formatSum(sum)}
      {sum.unknownCosts > 0 && sum.costUsd !== null ? (
        <span className="faint"> + {sum.unknownCosts} unknown</span>
      ) : null}
    </>
  );
}

function GroupChoice({ group, onChange }: { group: string; onChange: (group: string) => void }) {
  return (
    <div className="actions" role="group" aria-label="Add up by">
      {Object.keys(GROUPS).map((name) => (
        <button key={name} type="button" aria-pressed={name === group} onClick={() => onChange(name)}>
          {name}
        </button>
      ))}
    </div>
  );
}

function SpendTable({ label, title, sums }: { label: string; title: string; sums: readonly SpendSum[] }) {
  const columns: Column<SpendSum>[] = [
    { title, cell: ({ name }) => name },
    { title: 'Cost', isNumber: true, cell: formatSum },
    {
      title: 'Unknown',
      isNumber: true,
      cell: ({ unknownCosts }) => (unknownCosts === 0 ? '' : unknownCosts),
    },
    { title: 'Tokens', isNumber: true, cell: ({ tokens }) => formatCount(tokens) },
    { title: 'Runs', isNumber: true, cell: ({ runs }) => runs },
  ];
  return <DataTable label={label} columns={columns} rows={sums.slice(0, 200)} keyOf={({ name }) => name} />;
}

function NothingSpent() {
  return (
    <EmptyState title="Nothing was spent yet">
      <p>Every run with a model adds to its day, agent and session. In a terminal:</p>
      <pre className="command">caisson budget</pre>
    </EmptyState>
  );
}
