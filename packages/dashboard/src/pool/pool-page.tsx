import type { DaemonStatus } from '@caisson/protocol';
import type { ListedRun, ProjectUsage } from '../api/answers.ts';
import { useApp } from '../live/app-context.ts';
import { useAnswer } from '../live/use-answer.ts';
import { Link } from '../router/link.tsx';
import { runPath } from '../router/route.ts';
import { describeState } from '../runs/why-waiting.ts';
import { showControls } from '../ui/agent-text.tsx';
import { DataTable, type Column } from '../ui/data-table.tsx';
import { Facts } from '../ui/facts.tsx';
import { firstLine, formatAgo, formatBytes, formatMs, formatTime } from '../ui/format.ts';
import { EmptyState, Loading, ProblemNotice } from '../ui/notices.tsx';
import { Section } from '../ui/section.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { useNow } from '../ui/use-now.ts';

interface Pool {
  readonly status: DaemonStatus;
  readonly runs: readonly ListedRun[];
}

const MAX_LISTED = 200;

export function PoolPage() {
  const { client } = useApp();
  const load = async (signal: AbortSignal): Promise<Pool> => {
    const [status, runs] = await Promise.all([
      client.get<DaemonStatus>('/v1/status', {}, signal),
      client.get<ListedRun[]>('/v1/runs', { status: 'queued,running', limit: MAX_LISTED }, signal),
    ]);
    return { status, runs };
  };
  const { value, problem } = useAnswer('pool', load, ({ type }) =>
    /^(dispatch\.|run\.(queued|placed))/.test(type),
  );
  return (
    <div className="page">
      <h1>Pool</h1>
      <ProblemNotice problem={problem} />
      {value === null && problem === null ? <Loading what="the daemon's status" /> : null}
      {value === null ? null : <PoolBody pool={value} />}
      <DiskSection />
    </div>
  );
}

function PoolBody({ pool: { status, runs } }: { pool: Pool }) {
  return (
    <>
      <Section title="Daemon">
        <Facts
          facts={[
            ['Phase', status.phase],
            ['Running', countOf(runs, 'running')],
            ['Queued', countOf(runs, 'queued')],
            ['At most at once', status.concurrency ?? 'unknown'],
            ['Up for', formatMs(status.uptimeMs)],
            ['Version', status.version],
            ['Process', status.pid],
            ['Drains until', status.drainsUntil === undefined ? undefined : formatTime(status.drainsUntil)],
            ['Project', <code key="project">{status.projectRoot}</code>],
            ['State', <code key="state">{status.stateDir}</code>],
            [
              'Log',
              status.log === null ? (
                'its terminal, or its service manager'
              ) : (
                <code key="log">{status.log}</code>
              ),
            ],
          ]}
        />
      </Section>
      <Section title="Runs under way">
        {runs.length === 0 ? <NothingRuns /> : <UnderWay runs={runs} />}
      </Section>
    </>
  );
}

/** Of all processes of the project: they share the slots. */
function countOf(runs: readonly ListedRun[], status: ListedRun['status']): string {
  const found = runs.filter((run) => run.status === status).length;
  return runs.length < MAX_LISTED ? String(found) : `${found} or more`;
}

function UnderWay({ runs }: { runs: readonly ListedRun[] }) {
  const now = useNow();
  const columns: Column<ListedRun>[] = [
    {
      title: 'Status',
      cell: ({ status, waitsFor }) => <StatusBadge status={status} isHeld={waitsFor !== undefined} />,
    },
    {
      title: 'Task',
      cell: ({ runId, description }) => (
        <Link to={runPath(runId)}>{showControls(firstLine(description, 100))}</Link>
      ),
    },
    { title: 'Now', cell: (run) => showControls(describeState(run, now)) },
    { title: 'CPU', isNumber: true, cell: ({ live }) => percent(live?.cpuPercent) },
    {
      title: 'Memory',
      isNumber: true,
      cell: ({ live }) => (live?.memoryBytes === undefined ? '' : formatBytes(live.memoryBytes)),
    },
    { title: 'Accepted', cell: ({ acceptedAt }) => formatAgo(acceptedAt, now) },
  ];
  return <DataTable label="Runs under way" columns={columns} rows={runs} keyOf={({ runId }) => runId} />;
}

function percent(value: number | undefined): string {
  return value === undefined ? '' : `${Math.round(value)} %`;
}

function NothingRuns() {
  return (
    <EmptyState title="Nothing runs">
      <p>The daemon waits for tasks. How many run at once is in caisson.yaml. In a terminal:</p>
      <pre className="command">caisson top</pre>
    </EmptyState>
  );
}

function DiskSection() {
  const { client } = useApp();
  const { value, problem } = useAnswer('usage', (signal) =>
    client.get<ProjectUsage>('/v1/usage', {}, signal),
  );
  const columns: Column<ProjectUsage['parts'][number]>[] = [
    { title: 'Part', cell: ({ name }) => name },
    { title: 'Size', isNumber: true, cell: ({ bytes }) => formatBytes(bytes) },
    { title: 'What it is', cell: ({ what }) => what },
    { title: 'Freed by', cell: ({ frees }) => (frees === null ? '' : <code>{frees}</code>) },
  ];
  if (value === null) return <ProblemNotice problem={problem} />;
  return (
    <Section title={`Disk: ${formatBytes(value.bytes)}`}>
      <DataTable label="Disk" columns={columns} rows={value.parts} keyOf={({ name }) => name} />
    </Section>
  );
}
