import type { ScheduleView } from '@caisson/protocol';
import { Link } from '../router/link.tsx';
import { runPath } from '../router/route.ts';
import { DataTable, type Column } from '../ui/data-table.tsx';
import { formatAgo, shortId } from '../ui/format.ts';
import { Section } from '../ui/section.tsx';
import { useNow } from '../ui/use-now.ts';

export function SchedulesSection({ rows }: { rows: readonly ScheduleView[] }) {
  const now = useNow();
  const columns: Column<ScheduleView>[] = [
    { title: 'Schedule', cell: ({ name }) => name },
    { title: 'When', cell: ({ cron, timezone }) => <code>{`${cron} ${timezone ?? ''}`}</code> },
    { title: 'Starts', cell: ({ what }) => what },
    { title: 'Next', cell: ({ nextAt }) => (nextAt === undefined ? 'never' : formatAgo(nextAt, now)) },
    {
      title: 'Last',
      cell: ({ lastRunId, lastSlot = '' }) =>
        lastRunId === undefined ? lastSlot : <Link to={runPath(lastRunId)}>{shortId(lastRunId)}</Link>,
    },
    { title: 'Problem', cell: ({ lastProblem = '' }) => lastProblem },
  ];
  if (rows.length === 0) return null;
  return (
    <Section title="Schedules">
      <DataTable label="Schedules" columns={columns} rows={rows} keyOf={({ name }) => name} />
    </Section>
  );
}
