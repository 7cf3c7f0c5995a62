/** What the recovery of a dead host does not touch, and what does not stop it. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../packages/engine/src/config/index.ts';
import { recover } from '../../packages/engine/src/recovery/index.ts';
import { createEngine, type Engine } from '../../packages/engine/src/engine.ts';
import { LedgerBusyError } from '../../packages/engine/src/ledger/index.ts';
import type { PreparedWorkspace } from '../../packages/engine/src/workspace/index.ts';
import { openSpareWorkers } from '../../packages/engine/src/composition/open-spare-workers.ts';
import { SAMPLE_DATA } from '../../packages/protocol/src/fixtures/sample-events.ts';
import { createProject, type Project } from '../e2e/project.ts';

const RUN = 'run_00000000000000000001';
const OTHER = 'run_00000000000000000002';
const HOST = 'host_00000000000000000001';

async function openEngine(project: Project): Promise<Engine> {
  const config = await loadConfig({ cwd: project.root, env: project.env });
  const engine = createEngine(config, project.root, {
    spareWorkers: openSpareWorkers({ keepsNext: false }),
  });
  onTestFinished(() => engine.close());
  return engine;
}

function prepareAttempt({ workspaces, config }: Engine, attempt: number): Promise<PreparedWorkspace> {
  const { projectRoot, stateDir } = config;
  const kind = 'worktree';
  return workspaces.prepare({ kind, projectRoot, stateDir, keepOut: [], runId: RUN, attempt, include: [] });
}

const accept = ({ recorder }: Engine, runId = RUN) =>
  recorder
    .of(runId, 'trace')
    .append(
      'dispatch.accepted',
      { ...SAMPLE_DATA['dispatch.accepted'], runtime: 'command', host: HOST },
      { attempt: 0 },
    );

/** The first attempt is over, and its folder was left in place because it holds work; the second is being prepared. */
async function leaveBetweenAttempts(engine: Engine): Promise<PreparedWorkspace[]> {
  const record = engine.recorder.of(RUN, 'trace');
  await accept(engine);
  const first = await prepareAttempt(engine, 1);
  const handle = { kind: 'local', pid: 2 ** 22, startTime: '1' };
  await record.append('attempt.launched', { handle, nonce: 'n', workspace: { ...first } }, { attempt: 1 });
  writeFileSync(join(first.path, 'work.txt'), 'precious');
  const failure = { reason: 'crashed', detail: 'the worker died' } as const;
  await record.append('attempt.ended', { failure, nextAttempt: 2, delayMs: 1 }, { attempt: 1 });
  return [first, await prepareAttempt(engine, 2)];
}

it('takes away the attempt that was being prepared, and none before it', async () => {
  const engine = await openEngine(createProject());
  const [first, second] = await leaveBetweenAttempts(engine);
  expect((await engine.recover()).settled).toEqual([RUN]);
  expect(existsSync(join(first?.path ?? '', 'work.txt'))).toBe(true);
  expect(existsSync(second?.attemptDir ?? '')).toBe(false);
});

it('ends its runs also when the record of some attempt cannot be read', async () => {
  const engine = await openEngine(createProject());
  await accept(engine);
  const broken = join(engine.config.stateDir, 'worktrees', `${OTHER}.1`);
  mkdirSync(broken, { recursive: true });
  const sealed = engine.stamp.wrap(`workspace:${OTHER}.1`, '{"attempt": "no number"}');
  writeFileSync(join(broken, 'record.json'), sealed);
  mkdirSync(join(engine.config.stateDir, 'worktrees', `${OTHER}.2`, 'record.json'), { recursive: true });
  expect((await engine.recover()).settled).toEqual([RUN]);
  expect(engine.ledger.run(RUN)?.ending).toBe('dispatch.failed');
  const { foreign } = await engine.workspaces.inspect(engine.config);
  expect(foreign).toEqual([broken, join(broken, `../${OTHER}.2`)]);
});

it('lets others try when it failed itself', async () => {
  const project = createProject();
  const engine = await openEngine(project);
  await accept(engine);
  const busy = new LedgerBusyError(engine.ledger.file);
  const rooms = { ...engine.rooms, recorder: { ...engine.recorder, of: () => throwing(busy) } };
  const how = { hosts: engine.hosts, announce: engine.openPost, adopt: null, drives: () => false };
  const recovery = { ...how, repairRefs: () => Promise.resolve() };
  await expect(recover({ ...recovery, rooms })).rejects.toThrow(busy);
  const other = await openEngine(project);
  expect(await other.recover()).toMatchObject({ settled: [RUN], skipped: [] });
});

it('says whose runs another process settles', async () => {
  const project = createProject();
  const [engine, other] = [await openEngine(project), await openEngine(project)];
  await accept(engine);
  await other.openPost();
  other.ledger.leases.tryHold(`recover:${HOST}`, other.hostId, other.hostId);
  expect(await engine.recover()).toMatchObject({ settled: [], left: [], skipped: [HOST] });
});

function throwing(error: Error): never {
  throw error;
}
