import type { ThreadRow } from '@caisson/protocol';
import { Link } from '../router/link.tsx';
import { runPath } from '../router/route.ts';
import { showControls } from '../ui/agent-text.tsx';
import { DataTable, type Column } from '../ui/data-table.tsx';
import { firstLine, formatAgo, shortId } from '../ui/format.ts';
import { Section } from '../ui/section.tsx';
import { useNow } from '../ui/use-now.ts';
import type { SectionProps } from './contract.ts';
import { DeedButtons, type Deed } from './deed-buttons.tsx';
import { StateBadge } from './state-badge.tsx';

const OPEN = new Set(['queued', 'running', 'waiting']);

export function ThreadsSection({ rows, onChanged }: SectionProps<ThreadRow>) {
  const now = useNow();
  const columns: Column<ThreadRow>[] = [
    { title: 'Thread', cell: ({ threadId, workflow }) => `${workflow} ${shortId(threadId)}` },
    { title: 'Status', cell: ({ status }) => <StateBadge state={status} /> },
    { title: 'Round', isNumber: true, cell: ({ rounds, maxRounds }) => `${rounds} of ${maxRounds}` },
    { title: 'Waits for', cell: (row) => <WaitsFor row={row} /> },
    { title: 'Accepted', cell: ({ acceptedAt }) => formatAgo(acceptedAt, now) },
    { title: 'Detail', cell: ({ detail = '' }) => showControls(firstLine(detail)) },
    {
      title: 'Actions',
      cell: (row) => <DeedButtons of={row.threadId} deeds={deedsOf(row)} onChanged={onChanged} />,
    },
  ];
  if (rows.length === 0) return null;
  return (
    <Section title="Threads, the newest 50">
      <DataTable label="Threads" columns={columns} rows={rows} keyOf={({ threadId }) => threadId} />
    </Section>
  );
}

function WaitsFor({ row: { waitsFor = [] } }: { row: ThreadRow }) {
  return waitsFor.map(({ ordinal, kind, runIds = [], until }) => (
    <div key={ordinal}>
      {kind === 'value' ? 'step' : kind} {until ?? ''}
      {runIds.map((runId) => (
        <Link key={runId} to={runPath(runId)}>
          {shortId(runId)}{' '}
        </Link>
      ))}
    </div>
  ));
}

function deedsOf({ threadId, status }: ThreadRow): Record<string, Deed> {
  const path = `/v1/threads/${encodeURIComponent(threadId)}`;
  return OPEN.has(status)
    ? { Cancel: { path: `${path}/cancel`, confirm: 'Really cancel?' } }
    : { Resume: { path: `${path}/resume` } };
}
