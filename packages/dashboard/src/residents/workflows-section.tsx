import type { WorkflowView } from '@caisson/protocol';
import { DataTable, type Column } from '../ui/data-table.tsx';
import { Section } from '../ui/section.tsx';
import type { SectionProps } from './contract.ts';
import { DeedButtons } from './deed-buttons.tsx';
import { StateBadge } from './state-badge.tsx';

export function WorkflowsSection({ rows, onChanged }: SectionProps<WorkflowView>) {
  const columns: Column<WorkflowView>[] = [
    { title: 'Workflow', cell: ({ name, file }) => <span title={file}>{name}</span> },
    { title: 'State', cell: ({ state }) => <StateBadge state={state} /> },
    { title: 'On', cell: ({ on }) => on.join(', ') },
    { title: 'Active', isNumber: true, cell: ({ active, concurrency }) => `${active} of ${concurrency}` },
    { title: 'Queued', isNumber: true, cell: ({ queued, overflow }) => `${queued} (${overflow})` },
    { title: 'Problem', cell: ({ problem = '' }) => problem },
    {
      title: 'Actions',
      cell: ({ name }) => (
        <DeedButtons
          of={name}
          deeds={{ 'Start a thread': { path: `/v1/workflows/${encodeURIComponent(name)}/threads` } }}
          onChanged={onChanged}
        />
      ),
    },
  ];
  if (rows.length === 0) return null;
  return (
    <Section title="Workflows">
      <DataTable label="Workflows" columns={columns} rows={rows} keyOf={({ name }) => name} />
    </Section>
  );
}
