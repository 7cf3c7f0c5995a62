/**
 * SIGKILL of the daemon again and again while one run is under way, and a new daemon each time. The run is a command, an
 * agent of a scripted model with tools, one whose call waits for a person, or one that is checked at its end.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer, type ModelServer, type ScriptTurn } from '@caisson/testkit';
import type { DaemonStatus } from '@caisson/protocol';
import { pidsWith, until } from '../../../e2e/open-project.ts';
import { hasCome, listFolder, type Moment } from '../../moments.ts';
import { choose, chooseNumber, chooseSetting } from '../choose.ts';
import type { Findings, Kind, Outcome, Random, Setting, Stage } from '../contract.ts';
import { judgeAdopted } from '../invariants/adopted.ts';
import { look } from '../phases.ts';
import { watchReported } from '../reported.ts';
import { isRunning } from '../left-processes.ts';
import { killQuietly, openStage } from '../stage.ts';

const KEY = 'sk-harness-0123456789';
const LIMIT_MS = 120_000;
const KILLS = 4;
/** Takes longer than the kills around it. */
const CHECK = 'sleep 4.017';

type Sort = 'command' | 'agent' | 'approval' | 'checked';

/** Between the agent's work and the end of the seal: the moments that a random time seldom meets. */
const LATE_MOMENTS = ['captured', 'result', 'checkpointed', 'ended', 'sealed'] as const;

type Aim = Moment | 'verify' | null;

/** Just after such a moment. */
const AIMED_MS = 60;

interface Kill {
  /** It waits for this moment first. */
  readonly moment: Aim;
  /** After the start, the acceptance, or the moment when the daemon before it began to serve. */
  readonly afterMs: number;
  readonly restartMs: number;
}

export interface AdoptionCase {
  readonly sort: Sort;
  readonly kills: readonly Kill[];
  /** What the first kill comes after: the start is just before `go`, and the agent's first word comes later. */
  readonly first: 'dispatch.accepted' | 'dispatch.started';
  /** After how many kills a person answers. */
  readonly answersAfter: number;
  readonly setting: Setting;
}

export const adoption: Kind = {
  name: 'adoption',
  summary: 'SIGKILL of the daemon while agents work, and a new one',
  isUsual: true,
  findObstacle: () => null,
  plan(random) {
    const planned = planCase(random);
    const kills = planned.kills.map(({ moment, afterMs, restartMs }) =>
      `${moment ?? ''} ${afterMs} ms (back after ${restartMs / 1000} s)`.trim(),
    );
    return {
      name: `kill daemon of a run of sort ${planned.sort} after ${planned.first} and ${kills.join(', ')}`,
      run: () => play(planned),
    };
  },
};

function planCase(random: Random): AdoptionCase {
  const sort = choose<Sort>(random, ['command', 'agent', 'agent', 'approval', 'checked']);
  const first = choose(random, ['dispatch.accepted', 'dispatch.started'] as const);
  const firstMs = first === 'dispatch.started' ? 400 : 3000;
  const late = choose(random, LATE_MOMENTS);
  const aims = sort === 'checked' ? ([null, 'verify', late] as const) : ([null, late] as const);
  const kills = Array.from({ length: KILLS }, (_, index) => {
    const moment = index === 0 ? null : choose<Aim>(random, aims);
    const longestMs = moment === null ? (index === 0 ? firstMs : 1500) : AIMED_MS;
    return { moment, afterMs: chooseNumber(random, 0, longestMs), restartMs: chooseRestart(random) };
  });
  const answersAfter = chooseNumber(random, 0, KILLS);
  const needs = { workspace: 'worktree', agent: 'writes', state: 'inside', isDirty: false } as const;
  return { sort, kills, first, answersAfter, setting: chooseSetting(random, needs) };
}

/** Most daemons are back soon; some take half a minute. */
function chooseRestart(random: Random): number {
  const longest = choose(random, [0, 3000, 3000, 30_000]);
  return chooseNumber(random, 0, longest);
}

async function play(planned: AdoptionCase): Promise<Findings> {
  const model = await startModelServer({ script: scriptOf(planned.sort), apiKey: KEY });
  const runtime = `{ endpoint: "${model.url}", apiKey: "env:MODEL_KEY", model: claude-sonnet-4-5 }`;
  const stage = await openStage(planned.setting, `runtimes: { native: ${runtime} }\n`);
  const stopWatching = watchReported(stage);
  try {
    Object.assign(stage.project.env, { MODEL_KEY: KEY, CAISSON_HEARTBEAT_MS: '200' });
    await stage.project.trust();
    return await killAndJudge(stage, model, planned);
  } finally {
    stopWatching();
    await stage.close();
    await model.stop();
  }
}

async function killAndJudge(stage: Stage, model: ModelServer, planned: AdoptionCase): Promise<Findings> {
  const { kills, first, answersAfter } = planned;
  let daemon = await serve(stage);
  const asking = stage.caisson('run', '--detach', '--retries', '0', ...argumentsOf(planned.sort));
  await until('it has come so far', () => stage.ledger().read({ types: [first] }).length > 0, LIMIT_MS);
  let struck = 0;
  let hadBegun = false;
  for (const [index, { moment, afterMs, restartMs }] of kills.entries()) {
    if (index >= answersAfter) await answerOpen(stage);
    if (moment !== null) await untilMoment(stage, moment);
    await new Promise((resolve) => setTimeout(resolve, afterMs)); // the moment itself
    if (hasSealed(stage)) break;
    look(stage);
    hadBegun ||= hasCome('agent', { ...stage, root: stage.project.root, ledger: stage.ledger() });
    killQuietly(daemon);
    await until('the daemon is gone', () => !isRunning(daemon));
    hadBegun ||= hasWorked(stage);
    struck += 1;
    await new Promise((resolve) => setTimeout(resolve, restartMs)); // nobody is there
    daemon = await serve(stage);
  }
  await until(
    'it is sealed',
    async () => {
      await answerOpen(stage);
      return hasSealed(stage);
    },
    LIMIT_MS,
  );
  await asking; // its daemon may have been killed before it answered
  await stage.caisson('down', '--now');
  const violations = await judgeAdopted({ stage, model, hadBegun });
  const missed = struck === 0 ? 1 : 0;
  return { outcome: outcomeOf(stage), struck, missed, violations, context: describe(stage, violations) };
}

/** Looked for as often as possible: the seal follows the ending within milliseconds. */
async function untilMoment(stage: Stage, moment: Moment | 'verify'): Promise<void> {
  const watched = { ...stage, root: stage.project.root, ledger: stage.ledger() };
  const isThere = (): boolean =>
    hasSealed(stage) || (moment === 'verify' ? pidsWith(CHECK).length > 0 : hasCome(moment, watched));
  const untilMs = performance.now() + LIMIT_MS;
  for (let asked = 0; !isThere() && performance.now() < untilMs; asked += 1) {
    if (asked % 100 === 99) await answerOpen(stage);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

function describe(stage: Stage, violations: readonly string[]): string[] {
  if (violations.length === 0) return [];
  return stage
    .ledger()
    .read()
    .map(({ type, data }) => `${type} ${JSON.stringify(data).slice(0, 300)}`);
}

async function serve(stage: Stage): Promise<number> {
  const { stdout, stderr } = await stage.caisson('up', '-d', '-o', 'json');
  if (stdout === '') throw new Error(`no daemon: ${stderr}`);
  return (JSON.parse(stdout) as DaemonStatus).pid;
}

/** What a worker says before `go`, and while it waits for it. */
const BEFORE_GO: ReadonlySet<string | undefined> = new Set(['worker.boot', 'worker.ready', 'heartbeat']);

/** Whether the worker has had its `go`, by its own lines: from then on it waits for the next daemon. */
function hasWorked(stage: Stage): boolean {
  const folder = join(stage.stateDir, 'runtime/events');
  return listFolder(folder)
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(1))
    .filter((text) => text.endsWith('}'))
    .some((text) => !BEFORE_GO.has((JSON.parse(text) as { kind?: string }).kind));
}

function hasSealed(stage: Stage): boolean {
  return stage.ledger().read({ types: ['evidence.sealed'] }).length > 0;
}

/** A person allows every call that waits. The daemon may be the one that has not adopted the run yet. */
async function answerOpen(stage: Stage): Promise<void> {
  for (const { approvalId } of stage.ledger().approvals({ status: 'open' }))
    await stage.caisson('approve', approvalId);
}

function outcomeOf(stage: Stage): Outcome {
  const status = stage.ledger().runs()[0]?.status;
  if (status === 'interrupted' || status === 'done') return status;
  return status === undefined ? 'refused' : 'failed';
}

const PROGRAM =
  'echo first > work.txt; for i in $(seq 24); do echo $i; sleep 0.5; done; echo more >> work.txt';

function argumentsOf(sort: Sort): string[] {
  if (sort === 'command') return ['--', 'sh', '-c', PROGRAM];
  const checked = sort === 'checked' ? ['--verify', CHECK, '--verify-lens', 'verify'] : [];
  return [...checked, '--runtime', 'native', '--mode', 'full-auto', 'work on it'];
}

/** Each answer has one token, so that what was answered to its end can be counted. */
function scriptOf(sort: Sort): ScriptTurn[] {
  const usage = { inputTokens: 100, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const turn = (command: string): ScriptTurn => ({
    say: 'word '.repeat(200),
    fault: 'drip',
    tool: { intent: 'run-command', command },
    usage,
  });
  const call = sort === 'approval' ? 'rm -rf README.md' : 'sleep 3';
  return [
    turn('echo first > work.txt; sleep 2'),
    turn(call),
    turn('echo more >> work.txt'),
    { say: 'Done.', usage },
  ];
}
