/** Residents in words. */
import type {
  DaemonStatus,
  ResidentView,
  ScheduleView,
  SenseView,
  ThreadRow,
  ThreadView,
  WorkflowView,
} from '@caisson/protocol';
import { formatTable } from './format-table.ts';
import { cutToWidth, formatAge, formatBytes, formatDuration } from './format-values.ts';
import { line, textLines, type Line, type Lines, type Style } from './painted.ts';

const MAX_WHAT_COLUMNS = 60;
const MAX_LAST_LINES = 5;

const ageOf = (at: string | undefined): string =>
  at === undefined ? '-' : formatAge(Date.now() - Date.parse(at));
const oneLine = (text: string): string => cutToWidth(text.replaceAll(/\s+/g, ' '), MAX_WHAT_COLUMNS);

export function formatSenses(senses: readonly SenseView[], { bold }: Style, columns?: number): Lines {
  if (senses.length === 0)
    return ['No sense is declared that you have agreed to. caisson trust shows what is.'];
  const rows = senses.map((sense) => [
    sense.name,
    sense.group,
    sense.isComputing ? 'computing' : sense.state,
    describeCauses(sense),
    `${sense.computes}${sense.failures === 0 ? '' : ` (${sense.failures} failed)`}`,
    sense.lastComputeAt === undefined
      ? '-'
      : `${ageOf(sense.lastComputeAt)}, ${formatDuration(sense.lastDurationMs)}`,
    oneLine(sense.lastProblem ?? ''),
  ]);
  return formatTable(
    [['SENSE', 'GROUP', 'STATE', 'WHEN', 'COMPUTES', 'LAST', 'PROBLEM'], ...rows],
    bold,
    columns,
  );
}

function describeCauses({ intervalMs, on }: SenseView): string {
  return [...(intervalMs === undefined ? [] : [`every ${formatDuration(intervalMs)}`]), ...on].join(', ');
}

export function formatSense(sense: SenseView, style: Style): Lines {
  return formatPairs(
    {
      sense: sense.name,
      file: sense.file,
      group: sense.group,
      state: sense.isComputing ? 'computing' : sense.state,
      when: describeCauses(sense),
      computes: `${sense.computes} since the daemon started, ${sense.failures} failed`,
      last: sense.lastComputeAt,
      took: sense.lastDurationMs === undefined ? undefined : formatDuration(sense.lastDurationMs),
      next: sense.nextAt,
      problem: sense.lastProblem,
    },
    style,
  );
}

export function formatWorkflows(
  workflows: readonly WorkflowView[],
  { bold }: Style,
  columns?: number,
): Lines {
  if (workflows.length === 0)
    return ['No workflow is declared that you have agreed to. caisson trust shows what is.'];
  const rows = workflows.map((workflow) => [
    workflow.name,
    workflow.state,
    workflow.on.join(', ') || '-',
    `${workflow.active} of ${workflow.concurrency}`,
    String(workflow.queued),
    workflow.overflow,
    oneLine(workflow.problem ?? ''),
  ]);
  return formatTable(
    [['WORKFLOW', 'STATE', 'SIGNALS', 'THREADS', 'QUEUED', 'OVERFLOW', 'PROBLEM'], ...rows],
    bold,
    columns,
  );
}

/** In a few words; each where there is one. */
export function summariseResidents({
  residents = [],
  threads,
  schedules = [],
}: Pick<DaemonStatus, 'residents' | 'threads' | 'schedules'>): [string, string][] {
  const states = Object.entries(Object.groupBy(residents, ({ state }) => state));
  const rows: [string, string][] = [];
  if (residents.length > 0)
    rows.push(['workers', states.map(([state, those]) => `${those.length} ${state}`).join(', ')]);
  if (threads !== undefined)
    rows.push([
      'threads',
      `${threads.running} running, ${threads.waiting} waiting, ${threads.queued} queued`,
    ]);
  const [next] = schedules.toSorted((a, b) => (a.nextAt ?? '9').localeCompare(b.nextAt ?? '9'));
  if (next !== undefined)
    rows.push(['next', `${next.name} at ${next.nextAt ?? 'no time'} (${schedules.length} schedules)`]);
  return rows;
}

export function formatResidents(
  residents: readonly ResidentView[],
  { bold }: Style,
  columns?: number,
): Lines {
  if (residents.length === 0)
    return ['No resident is declared that you have agreed to. caisson trust shows what is.'];
  const rows = residents.map((one) => [
    one.key,
    one.state,
    one.pid === undefined ? '-' : String(one.pid),
    one.memoryBytes === undefined ? '-' : formatBytes(one.memoryBytes),
    String(one.underWay),
    `${one.crashes} of ${one.starts}`,
    oneLine(describeTrouble(one)),
  ]);
  const table = formatTable(
    [['RESIDENT', 'STATE', 'PID', 'MEMORY', 'AT WORK', 'CRASHES', 'PROBLEM'], ...rows],
    bold,
    columns,
  );
  return [...table, ...residents.flatMap((one) => describeLastWords(one, bold))];
}

/** The end of what it printed before it ended without being asked. */
function describeLastWords({ key, lastEnding }: ResidentView, bold: Style['bold']): Lines {
  const text = lastEnding?.why === 'stopped' ? '' : (lastEnding?.stderrTail ?? '').trimEnd();
  if (text === '') return [];
  const last = text.split('\n').slice(-MAX_LAST_LINES).join('\n');
  return ['', line`${bold(key)} ended ${ageOf(lastEnding?.at)}; its stderr:`, ...textLines(last, '  ')];
}

/** What keeps it from work, or how it ended without being asked. */
function describeTrouble({ key, state, problems = {}, lastEnding }: ResidentView): string {
  const [problem] = Object.values(problems);
  if (problem !== undefined) return problem;
  if (state === 'blocked') return `caisson residents reset ${key} · ${lastEnding?.detail ?? ''}`;
  return lastEnding === undefined || lastEnding.why === 'stopped'
    ? ''
    : `${lastEnding.why}: ${lastEnding.detail}`;
}

export function formatThreads(threads: readonly ThreadRow[], { bold }: Style, columns?: number): Lines {
  if (threads.length === 0) return ['No thread.'];
  const rows = threads.map((thread) => [
    thread.threadId,
    thread.workflow,
    thread.status,
    describeTrigger(thread),
    `${thread.rounds} of ${thread.maxRounds}`,
    ageOf(thread.acceptedAt),
    oneLine(thread.detail ?? describeWait(thread)),
  ]);
  return formatTable([['THREAD', 'WORKFLOW', 'STATUS', 'BY', 'ROUNDS', 'SINCE', ''], ...rows], bold, columns);
}

function describeTrigger({ trigger }: ThreadRow): string {
  if (trigger.kind === 'signal') return `signal ${trigger.name}`;
  return trigger.kind === 'schedule' ? `schedule ${trigger.schedule}` : 'you';
}

function describeWait({ waitsFor = [] }: ThreadRow): string {
  return waitsFor
    .map(({ kind, runIds, questionId, until }) =>
      [kind, runIds?.join(', '), questionId, until].filter((word) => word !== undefined).join(' '),
    )
    .join('; ');
}

export function formatThread(thread: ThreadView, style: Style): Lines {
  return [
    ...formatPairs(
      {
        thread: thread.threadId,
        workflow: thread.workflow,
        status: [thread.status, thread.detail].filter((word) => word !== undefined).join(': '),
        by: describeTrigger(thread),
        accepted: thread.acceptedAt,
        started: thread.startedAt,
        ended: thread.endedAt,
        rounds: `${thread.rounds} of at most ${thread.maxRounds}`,
        waits: describeWait(thread) || undefined,
        continues: thread.continues,
        runs: thread.runs.join(', ') || undefined,
      },
      style,
    ),
    ...describeContent('payload', thread.payload, style),
    ...thread.messages.flatMap(({ round, role, content }) =>
      describeContent(`round ${round}, ${role}`, content, style),
    ),
  ];
}

function describeContent(title: string, content: unknown, { bold }: Style): Lines {
  if (content === undefined || content === null) return [];
  const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
  return ['', bold(title), ...textLines(text)];
}

export function formatSchedules(
  schedules: readonly ScheduleView[],
  { bold }: Style,
  columns?: number,
): Lines {
  if (schedules.length === 0)
    return ['No schedule is declared that you have agreed to. caisson trust shows what is.'];
  const rows = schedules.map((schedule) => [
    schedule.name,
    `${schedule.cron}${schedule.timezone === undefined ? '' : ` ${schedule.timezone}`}`,
    schedule.nextAt ?? 'never',
    oneLine(schedule.what),
    `${schedule.lastSlot ?? '-'}${schedule.lastIsCatchUp === true ? ' (late)' : ''}`,
    oneLine(schedule.lastProblem ?? schedule.lastRunId ?? schedule.lastThreadId ?? '-'),
  ]);
  return formatTable([['SCHEDULE', 'WHEN', 'NEXT', 'WHAT', 'LAST', 'BECAME'], ...rows], bold, columns);
}

function formatPairs(pairs: Readonly<Record<string, string | undefined>>, { bold }: Style): Line[] {
  return Object.entries(pairs).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [line`${bold(name.padEnd(9))} ${value}`],
  );
}
