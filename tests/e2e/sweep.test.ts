import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { withTrust } from '../../packages/engine/src/composition/trusted-config.ts';
import { createLiveConfig } from '../../packages/engine/src/config/index.ts';
import { createEngine, type Engine } from '../../packages/engine/src/engine.ts';
import { createRunId } from '../../packages/engine/src/platform/index.ts';
import { createSweeper } from '../../packages/engine/src/operations/sweep.ts';
import { listFolder } from '../faults/moments.ts';
import { createProject, finish, until } from './project.ts';

const DAYS_MS = 2 * 86_400_000;

async function openEngine(env: Record<string, string> = {}): Promise<Engine> {
  const project = createProject({ env });
  const live = await createLiveConfig(withTrust({ cwd: project.root, env: project.env }), () => undefined);
  const engine = createEngine(live.current, project.root);
  onTestFinished(() => engine.close());
  return engine;
}

/** What a process that was killed long ago had begun to write. */
function leave({ config }: Engine, name: string): string {
  const path = join(config.stateDir, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'half');
  const then = (Date.now() - DAYS_MS) / 1000;
  utimesSync(path, then, then);
  return path;
}

const DRAFT = '.caisson-0123456789abcdef01.tmp';
const FOLDERS = [
  ...['jobs', 'results', 'events', 'spool', 'captures', 'mailboxes', 'homes', 'logins', 'net', 'overlays'],
  'layers',
];

it('a host sweeps beside its first dispatch, and again as long as it lives', async () => {
  const engine = await openEngine();
  const sweeper = createSweeper(engine, 20);
  const early = FOLDERS.map((folder) => leave(engine, `runtime/${folder}/${DRAFT}`));
  sweeper.dispatched();
  await until('the first pass', () => !early.some((path) => existsSync(path)));
  const late = [
    ...FOLDERS.map((folder) => leave(engine, `runtime/${folder}/${DRAFT}`)),
    leave(engine, DRAFT),
    leave(engine, `runtime/seal.lock.${'0'.repeat(24)}`),
    leave(engine, 'store/tmp/0123'),
  ];
  await until('a later pass', () => !late.some((path) => existsSync(path)));
  await sweeper.stop();
  const after = leave(engine, DRAFT);
  await new Promise((resolve) => setImmediate(resolve));
  sweeper.dispatched();
  expect(existsSync(after)).toBe(true);
});

it('a later pass removes the files of runs that ended a day ago, and keeps those of younger ones', async () => {
  const engine = await openEngine();
  const sweeper = createSweeper(engine, 20);
  sweeper.dispatched();
  const old = await recordEnded(engine, Date.now() - DAYS_MS);
  const young = await recordEnded(engine, Date.now());
  const leaveAll = (folders: readonly string[], runId: string): string[] =>
    folders.map((folder) => leave(engine, `runtime/${folder}/${runId}.1`));
  const kept = leaveAll(['results', 'events', 'spool'], young);
  const late = leaveAll(FOLDERS, old);
  await until('a later pass', () => !late.some((path) => existsSync(path)));
  await sweeper.stop();
  expect(kept.every((path) => existsSync(path))).toBe(true);
});

/** A run that a host of that time recorded. */
async function recordEnded({ ledger, config }: Engine, atMs: number): Promise<string> {
  const runId = createRunId({ wallMs: () => atMs });
  const fact = { runId, attempt: 0, version: 1, at: new Date(atMs).toISOString(), trace: '' };
  await ledger.append([
    { ...fact, type: 'dispatch.accepted', data: { host: config.stateDir, task: { description: 'x' } } },
    { ...fact, type: 'dispatch.finished', data: { durationMs: 1 } },
  ]);
  return runId;
}

it('a workspace that could not be removed with its run is gone after the next one', async () => {
  const project = createProject();
  const worktrees = join(project.root, '.caisson/worktrees');
  const run = project.start(
    'run',
    '--sandbox',
    'none', // nothing proves that no process of the run is left, so a foreign one counts
    '--',
    'sh',
    '-c',
    'echo work > work.txt; until [ -e go ]; do sleep 0.05; done',
  );
  const ended = finish(run);
  const name = await until('the work', () => listFolder(worktrees).find(hasWork));
  const files = join(worktrees, name, 'files');
  const inTheWay = spawn('sleep', ['1000'], { cwd: files, stdio: 'ignore' });
  onTestFinished(() => void inTheWay.kill('SIGKILL'));
  await once(inTheWay, 'spawn');
  writeFileSync(join(files, 'go'), '');
  expect(await ended).toMatchObject({ code: 0 });
  expect(readdirSync(worktrees)).toEqual([name]);
  inTheWay.kill('SIGKILL');
  await once(inTheWay, 'exit');
  expect(await project.run('--', 'true')).toMatchObject({ status: 'done' });
  expect(readdirSync(worktrees)).toEqual([]);

  function hasWork(folder: string): boolean {
    return existsSync(join(worktrees, folder, 'files/work.txt'));
  }
});
