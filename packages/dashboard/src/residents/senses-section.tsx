import type { SenseView } from '@caisson/protocol';
import { showControls } from '../ui/agent-text.tsx';
import { DataTable, type Column } from '../ui/data-table.tsx';
import { formatAgo, formatMs } from '../ui/format.ts';
import { Section } from '../ui/section.tsx';
import { useNow } from '../ui/use-now.ts';
import type { SectionProps } from './contract.ts';
import { DeedButtons } from './deed-buttons.tsx';
import { StateBadge } from './state-badge.tsx';

export function SensesSection({ rows, onChanged }: SectionProps<SenseView>) {
  const now = useNow();
  const columns: Column<SenseView>[] = [
    { title: 'Sense', cell: ({ name, file }) => <span title={file}>{name}</span> },
    {
      title: 'State',
      cell: ({ state, isComputing }) => <StateBadge state={isComputing ? 'running' : state} />,
    },
    {
      title: 'Looks',
      cell: ({ intervalMs, on }) =>
        [...(intervalMs === undefined ? [] : [`every ${formatMs(intervalMs)}`]), ...on].join(', '),
    },
    {
      title: 'Computes',
      isNumber: true,
      cell: ({ computes, failures }) => `${computes}${failures > 0 ? `, ${failures} failed` : ''}`,
    },
    {
      title: 'Last',
      cell: ({ lastComputeAt }) => (lastComputeAt === undefined ? '' : formatAgo(lastComputeAt, now)),
    },
    { title: 'Problem', cell: ({ lastProblem = '' }) => showControls(lastProblem) },
    {
      title: 'Actions',
      cell: ({ name }) => (
        <DeedButtons
          of={name}
          deeds={{ Trigger: { path: `/v1/senses/${encodeURIComponent(name)}/trigger` } }}
          onChanged={onChanged}
        />
      ),
    },
  ];
  if (rows.length === 0) return null;
  return (
    <Section title="Senses">
      <DataTable label="Senses" columns={columns} rows={rows} keyOf={({ name }) => name} />
    </Section>
  );
}
