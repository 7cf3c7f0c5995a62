/** Residents in words. */
import type { DaemonStatus, ResidentView, ScheduleView, SenseView, WorkflowView } from '@caisson/protocol';
import { formatTable } from './format-table.ts';
import { findCause } from './find-cause.ts';
import { cutToWidth, formatAge, formatBytes, formatDuration } from './format-values.ts';
import { formatPairs } from './format-pairs.ts';
import { line, textLines, type Lines, type Style } from './painted.ts';

const MAX_WHAT_COLUMNS = 60;
/** Wrapped where the terminal is narrow. */
const MAX_PROBLEM_COLUMNS = 200;
const MAX_LAST_LINES = 5;

const ageOf = (at: string | undefined): string =>
  at === undefined ? '-' : formatAge(Date.now() - Date.parse(at));
const oneLine = (text: string): string => cutToWidth(text.replaceAll(/\s+/g, ' '), MAX_WHAT_COLUMNS);
const problemOf = (text: string | undefined): string =>
  cutToWidth(findCause(text ?? ''), MAX_PROBLEM_COLUMNS);

/** `isDeclared`: the configuration has some, which a daemon that runs has not read. */
function describeNone(kind: string, isDeclared: boolean): Lines {
  return [
    isDeclared
      ? `The daemon has not read yet which ${kind}s are declared. So that it does: caisson reload`
      : `No ${kind} is declared. (One that you have not agreed to has no effect; caisson trust shows it.)`,
  ];
}

/** How a list is shown, and what is said where it is empty. */
export interface ListShown {
  readonly style: Style;
  readonly columns?: number;
  readonly isDeclared: boolean;
}

export function formatSenses(
  senses: readonly SenseView[],
  { style: { bold }, columns, isDeclared }: ListShown,
): Lines {
  if (senses.length === 0) return describeNone('sense', isDeclared);
  const rows = senses.map((sense) => [
    sense.name,
    sense.group,
    sense.isComputing ? 'computing' : sense.state,
    describeCauses(sense),
    `${sense.computes}${sense.failures === 0 ? '' : ` (${sense.failures} failed)`}`,
    sense.lastComputeAt === undefined
      ? '-'
      : `${ageOf(sense.lastComputeAt)}, ${formatDuration(sense.lastDurationMs)}`,
    problemOf(sense.problem ?? sense.lastProblem),
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
      problem: sense.problem ?? sense.lastProblem,
    },
    style,
  );
}

export function formatWorkflows(
  workflows: readonly WorkflowView[],
  { style: { bold }, columns, isDeclared }: ListShown,
): Lines {
  if (workflows.length === 0) return describeNone('workflow', isDeclared);
  const rows = workflows.map((workflow) => [
    workflow.name,
    workflow.state,
    workflow.on.join(', ') || '-',
    `${workflow.active} of ${workflow.concurrency}`,
    String(workflow.queued),
    workflow.overflow,
    problemOf(workflow.problem),
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
      `${threads.running} running${describeHeld(threads.held)}, ${threads.waiting} waiting, ${threads.queued} queued`,
    ]);
  const [next] = schedules.toSorted((a, b) => (a.nextAt ?? '9').localeCompare(b.nextAt ?? '9'));
  if (next !== undefined)
    rows.push([
      'next',
      `${next.name} at ${next.nextAt ?? 'no time'} (${schedules.length} ${schedules.length === 1 ? 'schedule' : 'schedules'})`,
    ]);
  return rows;
}

const describeHeld = (held = 0): string =>
  held === 0 ? '' : ` (${held} of them held: caisson threads list)`;

export function formatResidents(
  residents: readonly ResidentView[],
  { style: { bold }, columns, isDeclared }: ListShown,
): Lines {
  if (residents.length === 0) return describeNone('resident', isDeclared);
  const rows = residents.map((one) => [
    one.key,
    one.state,
    one.pid === undefined ? '-' : String(one.pid),
    one.memoryBytes === undefined ? '-' : formatBytes(one.memoryBytes),
    String(one.underWay),
    String(one.starts),
    String(one.crashes),
    problemOf(describeTrouble(one)),
  ]);
  const table = formatTable(
    [['RESIDENT', 'STATE', 'PID', 'MEMORY', 'AT WORK', 'STARTS', 'CRASHES', 'PROBLEM'], ...rows],
    bold,
    columns,
  );
  const unenforced = new Set(residents.flatMap((one) => one.unenforced ?? []));
  return [
    ...table,
    ...[...unenforced].flatMap((text) => ['', line`Limits that are not enforced here: ${text}`]),
    ...residents.flatMap((one) => describeLastWords(one, bold)),
  ];
}

/** The end of what it printed before it ended without being asked. */
function describeLastWords({ key, lastEnding }: ResidentView, bold: Style['bold']): Lines {
  const text = lastEnding?.why === 'stopped' ? '' : (lastEnding?.stderrTail ?? '').trimEnd();
  if (text === '') return [];
  const last = text.split('\n').slice(-MAX_LAST_LINES).join('\n');
  return ['', line`${bold(key)} ended ${ageOf(lastEnding?.at)}; its stderr:`, ...textLines(last, '  ')];
}

/** What keeps it from work, or how it ended without being asked. */
function describeTrouble({ key, state, problems = {}, ...resident }: ResidentView): string {
  const { blockReason = '', crashes, lastEnding } = resident;
  const [problem] = Object.values(problems);
  if (problem !== undefined) return problem;
  if (state === 'blocked') return `caisson residents reset ${key} · ${blockReason}`;
  const isOver = lastEnding?.why === 'stopped' || (state === 'ready' && crashes === 0);
  return lastEnding === undefined || isOver ? '' : `${lastEnding.why}: ${lastEnding.detail}`;
}

/** What does not load; where it worked before, the old version does still. */
export function listBroken(residents: readonly ResidentView[] = []): Lines {
  return residents.flatMap(({ key, problems = {} }) =>
    Object.entries(problems).map(([name, problem]) => {
      const why = cutToWidth(findCause(problem), MAX_PROBLEM_COLUMNS);
      return `${key}: the file of ${name} does not load (${why})`;
    }),
  );
}

/** What gets no work until a person says so. */
export function listBlocked(residents: readonly ResidentView[] = []): Lines {
  return residents
    .filter(({ state }) => state === 'blocked')
    .map(({ key, blockReason = '' }) => {
      const why = cutToWidth(findCause(blockReason), MAX_PROBLEM_COLUMNS);
      return `${key} is blocked (${why}). So that it works again: caisson residents reset ${key}`;
    });
}

export function formatSchedules(
  schedules: readonly ScheduleView[],
  { style: { bold }, columns, isDeclared }: ListShown,
): Lines {
  if (schedules.length === 0) return describeNone('schedule', isDeclared);
  const rows = schedules.map((schedule) => [
    schedule.name,
    `${schedule.cron}${schedule.timezone === undefined ? '' : ` ${schedule.timezone}`}`,
    schedule.nextAt ?? 'never',
    oneLine(schedule.what),
    `${schedule.lastSlot ?? '-'}${schedule.lastIsCatchUp === true ? ' (late)' : ''}`,
    oneLine(findCause(schedule.lastProblem ?? '') || (schedule.lastRunId ?? schedule.lastThreadId ?? '-')),
  ]);
  return formatTable([['SCHEDULE', 'WHEN', 'NEXT', 'WHAT', 'LAST', 'BECAME'], ...rows], bold, columns);
}
