/**
 * kill -9 of host, worker or agent at labelled and random moments. Whatever is killed and whenever: the next command
 * settles the run with exactly one ending, nothing of the work is lost, nothing runs twice, nothing is left behind.
 * The long form, with other targets and moments, is `npm run test:faults -- --kind kill`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { isTerminal } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { openLedger, type Ledger } from '../../packages/engine/src/ledger/index.ts';
import { createProject, finish, makeState, pidsWith, until, type Project } from '../e2e/project.ts';
import { hasCome, listFolder, MOMENTS, WORKER_MOMENTS, type Moment, type Watched } from './moments.ts';
import { readCommand, treeOf } from './processes.ts';
import { createRandom } from './process-trees.ts';

const KILLS = 12;

type Target = 'host' | 'worker' | 'agent';
type Kind = 'in-place' | 'worktree';
interface Case {
  readonly target: Target;
  readonly kind: Kind;
  readonly when: Moment | number;
}

/** Every labelled moment first, in turns with and without git; then random ones. */
function listCases(count: number): Case[] {
  const kindOf = (index: number): Kind => (index % 2 === 0 ? 'worktree' : 'in-place');
  const labelled: Case[] = [
    ...MOMENTS.map((when, index): Case => ({ target: 'host', kind: kindOf(index), when })),
    ...WORKER_MOMENTS.map((when, index): Case => ({ target: 'worker', kind: kindOf(index), when })),
    { target: 'agent', kind: 'worktree', when: 'agent' },
    ...MOMENTS.map((when, index): Case => ({ target: 'host', kind: kindOf(index + 1), when })),
    ...WORKER_MOMENTS.map((when, index): Case => ({ target: 'worker', kind: kindOf(index + 1), when })),
    { target: 'agent', kind: 'in-place', when: 'agent' },
  ];
  if (count >= labelled.length) {
    const random = createRandom(count);
    const targets: readonly Target[] = ['host', 'worker', 'agent'];
    for (let index = labelled.length; index < count; index += 1) {
      const target = targets[index % targets.length] ?? 'host';
      labelled.push({ target, kind: kindOf(index), when: Math.floor(random() * 900) });
    }
    return labelled;
  }
  // A short form still meets every target and spreads over the moments.
  const half = labelled.slice(0, labelled.length / 2);
  return Array.from(
    { length: count },
    (_, index) => half[Math.floor((index * half.length) / count)] ?? half[0],
  ).filter((each) => each !== undefined);
}

describe('kill -9', { timeout: 120_000 }, () => {
  it('of a host before it had a run leaves a socket that gc takes', async () => {
    const { project, stateDir } = openStage('in-place');
    const hosts = join(stateDir, 'runtime/hosts');
    const child = project.start('run', '--', 'sleep', '60');
    await until('a socket', () => listFolder(hosts).length === 1);
    child.kill('SIGKILL');
    await finish(child);
    for (const name of listFolder(hosts)) utimesSync(join(hosts, name), 0, 0); // as if it had been there for long
    expect((await project.caisson('gc')).code).toBe(0);
    expect(listFolder(hosts)).toEqual([]);
  });

  for (const [index, each] of listCases(KILLS).entries()) {
    const when = typeof each.when === 'number' ? `after ${each.when} ms` : `once ${each.when}`;
    it(`${index + 1}: of the ${each.target} ${when} (${each.kind}) leaves one ending and nothing else`, () =>
      killOnce(each, index));
  }

  it('settles once when several commands find the dead host at the same time', async () => {
    const stage = openStage('in-place');
    const child = stage.project.start('run', '--', 'sh', '-c', agentOf('77777'));
    await until('the agent works', () => hasCome('agent', stage) && pidsWith('sleep 77777').length > 0);
    child.kill('SIGKILL');
    await finish(child);
    const seen = await Promise.all(
      Array.from({ length: 4 }, () => stage.project.caisson('runs', '-o', 'json')),
    );
    expect(seen.map((cli) => cli.code)).toEqual([0, 0, 0, 0]);
    checkLedger(stage);
    await checkNothingLeft(stage);
  });

  it('settles a run although the first command that tried was killed in the middle of it', async () => {
    const stage = openStage('worktree');
    const child = stage.project.start('run', '--', 'sh', '-c', agentOf('88888'));
    await until('the agent works', () => hasCome('agent', stage) && pidsWith('sleep 88888').length > 0);
    child.kill('SIGKILL');
    await finish(child);
    const recoverer = stage.project.start('runs');
    const gone = finish(recoverer);
    await until('recovery has begun', () =>
      stage.ledger.leases.listHolds().some(({ name }) => name.startsWith('recover:')),
    );
    recoverer.kill('SIGKILL');
    await gone;
    expect((await stage.project.caisson('runs')).code).toBe(0);
    checkLedger(stage);
    await checkNothingLeft(stage);
  });
});

interface Stage extends Watched {
  readonly project: Project;
  readonly kind: Kind;
}

function openStage(kind: Kind): Stage {
  const project = createProject({
    git: kind === 'worktree',
    config: 'limits: { grace: 500ms, concurrency: 2 }\n',
  });
  const stateDir = makeState(project);
  const custody = kind === 'worktree' ? join(project.root, '.git') : join(stateDir, 'git');
  return {
    project,
    kind,
    root: project.root,
    stateDir,
    custody,
    ledger: openLedger(join(stateDir, 'ledger.db')),
  };
}

/** Counts itself, does something precious, works a while, and does more. */
function agentOf(mark: string): string {
  return `echo ran >> count; echo precious > work.txt; sleep ${mark}; echo more >> work.txt`;
}

async function killOnce({ target, kind, when }: Case, index: number): Promise<void> {
  const stage = openStage(kind);
  const { project, ledger } = stage;
  // Only a kill while the agent works needs it to go on for ever; the later moments need it to end.
  const isMeanwhile = when === 'agent' || typeof when === 'number';
  const mark = isMeanwhile && target !== 'agent' ? `6${process.pid}${index}` : '0.2';
  const child = project.start('run', '-o', 'json', '--retries', '0', '--', 'sh', '-c', agentOf(mark));
  const ended = finish(child);
  const startedMs = performance.now();
  let hadWork = false;
  await spin(() => {
    hadWork ||= hasWork(stage);
    if (typeof when === 'number' ? performance.now() - startedMs >= when : hasCome(when, stage)) return true;
    return child.exitCode !== null;
  });
  if (when === 'agent') hadWork = await until('the agent has worked', () => hasWork(stage));
  const wasKilled = kill(target, child.pid ?? 0, ledger);
  if (!wasKilled && mark !== '0.2') child.kill('SIGKILL'); // too early for this target: the host it is
  await ended;

  const listed = await project.caisson('runs', '-o', 'json');
  expect(listed.code, listed.stderr).toBe(0);
  if (ledger.runs().length > 0) {
    checkLedger(stage);
    checkWork(stage, hadWork);
  }
  await checkNothingLeft(stage);
  const after = await project.run('--', 'true');
  expect(after.status, after.cli.stderr).toBe('done');
  await ledger.close();
}

/** Looks again and again without a pause: some moments last a millisecond. */
async function spin(look: () => boolean): Promise<void> {
  const limitMs = performance.now() + 15_000;
  while (!look()) {
    if (performance.now() > limitMs) throw new Error('the moment never came');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function hasWork({ kind, root, stateDir }: Stage): boolean {
  if (kind === 'in-place') return isWritten(join(root, 'work.txt'));
  return listFolder(join(stateDir, 'worktrees')).some((name) =>
    isWritten(join(stateDir, 'worktrees', name, 'files/work.txt')),
  );
}

/** A file that exists but is still empty is not work yet. */
function isWritten(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** False when there is nothing of that kind to kill. */
function kill(target: Target, host: number, ledger: Ledger): boolean {
  if (target === 'host') return sendKill(host);
  const worker = launchedWorker(ledger);
  if (worker === null) return false;
  if (target === 'worker') return sendKill(worker);
  const agent = treeOf(worker).find((pid) => readCommand(pid).startsWith('sh -c echo ran'));
  return agent !== undefined && sendKill(agent);
}

/** The worker as the ledger names it; a spare one that waits for another run is not meant. */
function launchedWorker(ledger: Ledger): number | null {
  const [launched] = ledger.read({ types: ['attempt.launched'] });
  return (launched?.data['handle'] as { pid: number } | undefined)?.pid ?? null;
}

function sendKill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false; // it was faster
  }
}

/** Invariants 1, 3 and 4: one ending, no hole, a chain that holds. */
function checkLedger({ ledger }: { ledger: Ledger }): void {
  for (const { runId } of ledger.runs()) {
    const events = ledger.read({ runId });
    const types = events.map((event) => event.type);
    expect(
      types.filter((type) => isTerminal(type)),
      types.join(),
    ).toHaveLength(1);
    expect(types.filter((type) => type === 'dispatch.accepted')).toHaveLength(1);
    expect(types.filter((type) => type === 'attempt.launched').length).toBeLessThanOrEqual(1);
    expect(events.map((event) => event.seq)).toEqual(events.map((_, at) => at + 1));
    expect(ledger.verifyRun(runId)).toMatchObject({ ok: true, problems: [] });
    expect(types).toContain('evidence.sealed');
  }
  expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
}

/** Invariant 10, and nothing is dispatched twice: what the agent wrote is in the checkpoint, once. */
function checkWork({ ledger, custody }: Stage, hadWork: boolean): void {
  if (!hadWork) return;
  const [row] = ledger.runs();
  const show = (path: string): string =>
    execFileSync('git', ['--git-dir', custody, 'show', `refs/caisson/${row?.runId}/1:${path}`], {
      encoding: 'utf8',
    });
  expect(show('work.txt')).toMatch(/^precious\n(more\n)?$/);
  expect(show('count')).toBe('ran\n');
}

async function checkNothingLeft({ ledger, stateDir, project }: Stage): Promise<void> {
  for (const { runId } of ledger.runs()) {
    expect(pidsWith(runId), 'processes').toEqual([]);
    expect(cgroupsOf(runId), 'cgroups').toEqual([]);
  }
  expect(ledger.leases.listSlots(), 'slots').toEqual([]);
  expect(ledger.leases.listHolds(), 'leases').toEqual([]);
  expect(ledger.leases.hosts(), 'hosts').toEqual([]);
  for (const folder of ['jobs', 'net', 'captures', 'mailboxes', 'homes'])
    expect(listFolder(join(stateDir, 'runtime', folder)), folder).toEqual([]);
  expect(listFolder(join(stateDir, 'worktrees')), 'worktrees').toEqual([]);
  // A host that was killed before it had a run leaves an idle socket to gc; one that had a run leaves none.
  await project.caisson('runs');
  const owners = new Set(ledger.runs().map((row) => `${row.host}.sock`));
  expect(listFolder(join(stateDir, 'runtime/hosts')).filter((name) => owners.has(name))).toEqual([]);
}

function cgroupsOf(runId: string): string[] {
  return readdirSync('/sys/fs/cgroup')
    .map((name) => join('/sys/fs/cgroup', name, 'caisson'))
    .flatMap((folder) => listFolder(folder).map((name) => join(folder, name)))
    .filter((path) => path.includes(runId) && existsSync(join(path, 'cgroup.procs')));
}
