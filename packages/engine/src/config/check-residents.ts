/** What the schema cannot say about senses, workflows and schedules. */
import { realpathSync } from 'node:fs';
import { extname, relative, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  findNearest,
  formatDuration,
  MAX_MODULES,
  RUN_CONFIG,
  UNWATCHED_FOLDERS,
  type ConfigFile,
  type ScheduleConfig,
  type SenseConfig,
} from '@caisson/protocol';
import { assembleGrant } from './assemble-residents.ts';
import { findGrantProblems } from './check-grants.ts';
import type { ConfigDocument } from './config-document.ts';
import { readCronTimes, type CronTimes } from './cron-times.ts';
import { ConfigError, type ConfigProblem } from './errors.ts';

const KINDS = ['senses', 'workflows', 'schedules'] as const;
/** Times that are looked at for the shortest time between two of a schedule. */
const PERIOD_SAMPLES = 64;
const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs'];

type Problem = Pick<ConfigProblem, 'message' | 'suggestion'> & { readonly path: readonly string[] };

/** Null where nothing is wrong. */
export async function findResidentProblems(
  document: ConfigDocument,
  file: ConfigFile,
  projectRoot: string,
): Promise<ConfigError | null> {
  if (KINDS.every((kind) => file[kind] === undefined)) return null;
  const problems = [
    ...findFileProblems(file, projectRoot),
    ...findGrantProblems(file, projectRoot),
    ...findSenseProblems(file.senses ?? {}),
    ...findLargeGroups(file.senses ?? {}),
    ...(await findScheduleProblems(file)),
  ].map(({ path, ...words }) => ({ file: document.file, ...document.locate(path), ...words }));
  problems.sort((one, other) => one.line - other.line || one.column - other.column);
  const [first, ...rest] = problems;
  return first === undefined ? null : new ConfigError([first, ...rest]);
}

/** The user's own file is for every project, and these are of one. */
export function refuseUserResidents(document: ConfigDocument, file: ConfigFile): void {
  const kind = KINDS.find((one) => file[one] !== undefined);
  if (kind === undefined) return;
  const message = `${kind} belong to one project.`;
  throw new ConfigError([{ file: document.file, ...document.locate([], kind), message }], {
    remedy: "Move them into the project's caisson.yaml.",
  });
}

export function withoutResidents({ senses, workflows, schedules, ...rest }: ConfigFile): ConfigFile {
  void [senses, workflows, schedules];
  return rest;
}

function findFileProblems({ senses = {}, workflows = {} }: ConfigFile, projectRoot: string): Problem[] {
  return Object.entries({ senses, workflows }).flatMap(([kind, members]) =>
    Object.entries(members).flatMap(([name, { file }]) => {
      const wrong = describeFile(file, projectRoot);
      const path = [kind, name, 'file'];
      return wrong === null ? [] : [{ path, message: `${path.join('.')}: ${wrong}` }];
    }),
  );
}

/** A file that is not there is a problem of its resident, and appears when it is loaded. */
function describeFile(file: string, projectRoot: string): string | null {
  const path = resolve(projectRoot, file);
  if (!isInside(projectRoot, path)) return `"${file}" is outside of the project.`;
  if (!EXTENSIONS.includes(extname(file))) return `"${file}" must end with ${EXTENSIONS.join(', ')}.`;
  const target = realPathOf(path);
  return target === null || isInside(realPathOf(projectRoot) ?? projectRoot, target)
    ? null
    : `"${file}" is a link that leaves the project.`;
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith('../');
}

function realPathOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

function findSenseProblems(senses: Readonly<Record<string, SenseConfig>>): Problem[] {
  return Object.entries(senses).flatMap(([name, sense]) => {
    const path = ['senses', name];
    const group = sense.group ?? name;
    const first = Object.entries(senses).find(([other, { group: its }]) => (its ?? other) === group);
    const asWritten = (one: string): string => one;
    const isOther =
      first !== undefined &&
      !isDeepStrictEqual(assembleGrant(first[1], asWritten), assembleGrant(sense, asWritten));
    return [
      ...findUnwatched(name, sense),
      ...((sense.interval ?? sense.on?.[0]) === undefined
        ? [
            {
              path,
              message: `senses.${name}: nothing starts it; it needs an interval, or an on with an entry.`,
            },
          ]
        : []),
      ...(isOther
        ? [
            {
              path,
              message: `senses.${name}: it shares the sandbox of the group "${group}" with senses.${first[0]}, so both must declare the same read, write, hosts, memory, cpus, pids, disk, crashLimit and crashWindow.`,
            },
          ]
        : []),
    ];
  });
}

/** One process loads all files of a group. */
function findLargeGroups(senses: Readonly<Record<string, SenseConfig>>): Problem[] {
  const sizes = new Map<string, number>();
  return Object.entries(senses).flatMap(([name, { group = name }]) => {
    const size = (sizes.get(group) ?? 0) + 1;
    sizes.set(group, size);
    if (size !== MAX_MODULES + 1) return [];
    const message = `senses.${name}: the group "${group}" has more than ${MAX_MODULES} senses. Use several groups.`;
    return [{ path: ['senses', name], message }];
  });
}

/** Changes there are too many, and nobody's own. */
function findUnwatched(name: string, { on = [] }: SenseConfig): Problem[] {
  return on.flatMap((cause, index) => {
    const pattern = 'files' in cause ? cause.files : '';
    const folder = pattern.split('/').find((part) => UNWATCHED_FOLDERS.includes(part));
    if (folder === undefined) return [];
    const message = `senses.${name}.on: "${pattern}" would never start it: changes in ${folder} are not watched. Use an interval.`;
    return [{ path: ['senses', name, 'on', String(index), 'files'], message }];
  });
}

async function findScheduleProblems({ schedules = {}, workflows = {} }: ConfigFile): Promise<Problem[]> {
  const found: Problem[] = [];
  for (const [name, schedule] of Object.entries(schedules)) {
    const path = ['schedules', name];
    const times = await describeTimes(schedule);
    if (times !== null)
      found.push({ path: [...path, times.key], message: `schedules.${name}.${times.says}` });
    const what = describeWhat(schedule, Object.keys(workflows));
    if (what !== null) found.push({ path, message: `schedules.${name}: ${what}` });
  }
  return found;
}

async function describeTimes({
  cron,
  timezone,
  jitter = 0,
}: ScheduleConfig): Promise<{ readonly key: string; readonly says: string } | null> {
  try {
    const times = await readCronTimes(cron, timezone);
    if (times.next(0) === null) return { key: 'cron', says: `cron: "${cron}" is a time that never comes.` };
    const periodMs = jitter === 0 ? Infinity : findPeriodMs(times);
    if (jitter <= periodMs) return null;
    const period = formatDuration(periodMs);
    return {
      key: 'jitter',
      says: `jitter: ${formatDuration(jitter)} is longer than ${period}, the shortest time between two times of "${cron}": the later one would be missed. Use at most ${period}.`,
    };
  } catch (error) {
    const words = (error as Error).message.replace(/^CronPattern: /, '').replace(/\.$/, '');
    const key = words.startsWith('there is no time zone') ? 'timezone' : 'cron';
    return { key, says: `${key}: ${words}.` };
  }
}

/** The shortest time between two of the first times, from a moment that is the same for every check. */
function findPeriodMs({ next }: CronTimes): number {
  let periodMs = Infinity;
  let last = next(0);
  for (let count = 1; count < PERIOD_SAMPLES && last !== null; count += 1) {
    const following = next(last);
    if (following !== null) periodMs = Math.min(periodMs, following - last);
    last = following;
  }
  return periodMs;
}

function describeWhat(schedule: ScheduleConfig, workflows: readonly string[]): string | null {
  const { task, command, workflow } = schedule;
  const given = [task, command, workflow].filter((one) => one !== undefined).length;
  if (given !== 1)
    return `it starts exactly one of task, command and workflow, and ${given === 0 ? 'none is' : `${given} are`} set.`;
  if (schedule.network !== undefined && schedule.hosts !== undefined)
    return 'network and hosts are one option of a run: leave one of them out.';
  if (workflow === undefined) return null;
  if (!workflows.includes(workflow)) {
    const nearest = findNearest(workflow, workflows);
    return `there is no workflow "${workflow}".${nearest === null ? '' : ` Did you mean "${nearest}"?`}`;
  }
  const extra = Object.keys(RUN_CONFIG).find((key) => Object.hasOwn(schedule, key));
  return extra === undefined ? null : `${extra} is for runs, and this starts a thread of a workflow.`;
}
