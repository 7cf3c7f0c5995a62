import type { ResidentView } from '@caisson/protocol';
import { showControls } from '../ui/agent-text.tsx';
import { DataTable, type Column } from '../ui/data-table.tsx';
import { formatBytes } from '../ui/format.ts';
import { Section } from '../ui/section.tsx';
import type { SectionProps } from './contract.ts';
import { DeedButtons, type Deed } from './deed-buttons.tsx';
import { StateBadge } from './state-badge.tsx';

/** The worker processes behind senses and workflows. */
export function ResidentsSection({ rows, onChanged }: SectionProps<ResidentView>) {
  const columns: Column<ResidentView>[] = [
    { title: 'Resident', cell: ({ key }) => key },
    { title: 'State', cell: ({ state }) => <StateBadge state={state} /> },
    { title: 'Serves', cell: ({ serves }) => serves.join(', ') },
    { title: 'Under way', isNumber: true, cell: ({ underWay }) => underWay },
    { title: 'Crashes', isNumber: true, cell: ({ crashes }) => crashes },
    {
      title: 'Memory',
      isNumber: true,
      cell: ({ memoryBytes }) => (memoryBytes === undefined ? '' : formatBytes(memoryBytes)),
    },
    { title: 'Problem', cell: ({ problems = {} }) => showControls(Object.values(problems).join('; ')) },
    {
      title: 'Actions',
      cell: ({ key }) => (
        <DeedButtons
          of={key}
          deeds={deedsOf(`/v1/residents/${encodeURIComponent(key)}`)}
          onChanged={onChanged}
        />
      ),
    },
  ];
  return (
    <Section title="Workers">
      <DataTable label="Workers of residents" columns={columns} rows={rows} keyOf={({ key }) => key} />
    </Section>
  );
}

function deedsOf(path: string): Record<string, Deed> {
  return {
    Reset: { path: `${path}/reset`, confirm: 'Really reset?' },
    Drain: { path: `${path}/drain`, confirm: 'Really drain?' },
    Restart: { path: `${path}/restart`, confirm: 'Really restart?' },
  };
}
