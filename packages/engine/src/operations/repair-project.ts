/**
 * What `doctor --repair` does. Each step is tried even if the one before it failed; events, and work without another
 * copy, are never touched.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isTrusted, listUnread } from '../composition/trusted-config.ts';
import { openSpareWorkers } from '../composition/open-spare-workers.ts';
import type { ResolvedConfig } from '../config/index.ts';
import type { ProbeReport } from '../discovery/index.ts';
import { createEngine, type Engine } from '../engine.ts';
import { openLedger } from '../ledger/index.ts';
import { rebuildPacks } from '../store/index.ts';
import type { InspectedWorkspaces } from '../workspace/index.ts';
import { removeLeftOfRuns } from './collect-garbage.ts';
import { findProblems } from './examine-store.ts';
import { describeRemoval } from './left-workspaces.ts';
import { describeRepair, repairOwnRefs } from './repair-own-refs.ts';
import { makeLateSeals } from './seal-ended.ts';

/** One thing that was done (`ok`), or that could not be done (`fail`). */
export type Repair = Pick<ProbeReport, 'id' | 'detail'> & { readonly verdict: 'ok' | 'fail' };

type Step = (done: (detail: string) => void, failed: (detail: string) => void) => Promise<void>;

/** What follows the settings: other rules, keys or places must not step in for those that cannot be read. */
const LEFT = 'runs, seals, lost blobs and worktrees were left as they are';

/** A project without a ledger has nothing to repair. */
export async function repairProject(
  config: ResolvedConfig,
  { cwd, version }: { readonly cwd: string; readonly version: string },
): Promise<readonly Repair[]> {
  const repairs: Repair[] = [];
  const file = join(config.stateDir, 'ledger.db');
  const step = async (id: string, work: Step): Promise<void> => {
    const add = (verdict: Repair['verdict'], detail: string): void =>
      void repairs.push({ id, verdict, detail });
    try {
      await work(
        (detail) => add('ok', detail),
        (detail) => add('fail', detail),
      );
    } catch (error) {
      add('fail', (error as Error).message);
    }
  };
  if (!existsSync(file)) return repairs;
  await step('ledger', (done) => rebuildRows(file, done));
  await step('store', (done) => rebuildIndexes(config, done));
  await step('project', async () => {
    const engine = createEngine(config, cwd, {
      version,
      spareWorkers: openSpareWorkers({ keepsNext: false }),
    });
    try {
      await step('checkpoints', (done) => repairRefs(engine, done));
      const unread = listUnread(config);
      if (unread.length > 0) throw new Error(`${LEFT}: ${unread.join('; ')}`);
      await step('runs', (done, failed) => settleDead(engine, done, failed));
      await step('seals', (done, failed) => sealMissing(engine, done, failed));
      await step('store', (done, failed) => restoreBlobs(engine, done, failed));
      await step('worktrees', (done, failed) => removeStale(engine, done, failed));
    } finally {
      await engine.close();
    }
  });
  return repairs;
}

async function rebuildRows(file: string, done: (detail: string) => void): Promise<void> {
  const ledger = openLedger(file);
  try {
    if (!ledger.verifyAll().isRebuildable) return;
    ledger.rebuildProjections();
    const { events, runs } = ledger.verifyAll();
    done(`the rows of ${runs} runs were derived again from ${events} events`);
  } finally {
    await ledger.close();
  }
}

/** Before anything that reads blobs. */
async function rebuildIndexes(
  { stateDir }: Pick<ResolvedConfig, 'stateDir'>,
  done: (detail: string) => void,
): Promise<void> {
  for (const { file, isWhole, blobs } of await rebuildPacks(join(stateDir, 'store')))
    done(
      isWhole
        ? `the index of ${file} was made again from its ${blobs} blobs`
        : `${blobs} blobs were saved from ${file}; what else it had is unknown`,
    );
}

async function repairRefs(engine: Engine, done: (detail: string) => void): Promise<void> {
  for (const repair of await repairOwnRefs(engine)) done(describeRepair(repair));
}

async function settleDead(engine: Engine, ...[done, failed]: Parameters<Step>): Promise<void> {
  const { settled, left, skipped } = await engine.recover();
  for (const runId of settled) done(`${runId}, whose host is dead, was settled`);
  for (const { message } of left) failed(message);
  for (const host of skipped) failed(`another process settles what ${host} left`);
  for (const message of await engine.workspaces.recoverApplies(engine.config)) done(message);
}

async function sealMissing(engine: Engine, ...[done, failed]: Parameters<Step>): Promise<void> {
  const { sealed, failures } = await makeLateSeals(engine, { isForWork: true, isThorough: true });
  for (const runId of sealed) done(`${runId} was sealed`);
  for (const message of failures) failed(message);
}

async function restoreBlobs(engine: Engine, ...[done, failed]: Parameters<Step>): Promise<void> {
  const { config, ledger, mirror } = engine;
  if (mirror === null || !isTrusted(config, ['store'])) return;
  const tried = new Set<string>();
  // A restored bundle may name more that is missing.
  for (let isDone = false; !isDone;) {
    const { problems } = await findProblems(config.stateDir, ledger);
    const open = problems.filter(({ digest }) => !tried.has(digest));
    isDone = open.length === 0;
    for (const { digest, what, runId } of open) {
      tried.add(digest);
      const of = runId ?? 'the registry';
      if (await mirror.restore(digest)) done(`${what} of ${of} was fetched from the bucket`);
      else failed(`${what} of ${of} (${digest}) is not in the bucket`);
    }
  }
}

/** What ended runs left is removed as `gc` does it. A folder of an unknown run is saved first, or stays. */
async function removeStale(engine: Engine, ...[done, failed]: Parameters<Step>): Promise<void> {
  const { config, workspaces } = engine;
  for (const removal of await removeLeftOfRuns(engine)) done(describeRemoval(removal));
  for (const attempt of (await workspaces.inspect(config)).attempts) {
    try {
      await removeUnknown(engine, attempt, done, failed);
    } catch (error) {
      failed(`${attempt.attemptDir} was left in place: ${(error as Error).message}`);
    }
  }
}

async function removeUnknown(
  { ledger, workspaces }: Engine,
  { runId, attemptDir, prepared, hasRepository }: InspectedWorkspaces['attempts'][number],
  ...[done, failed]: Parameters<Step>
): Promise<void> {
  if (ledger.run(runId) !== null) return;
  if (prepared === null || !hasRepository) {
    const why = prepared === null ? 'it has no record' : `its repository ${prepared.custodyDir} is gone`;
    return failed(`${attemptDir} was left in place: ${why}`);
  }
  const checkpoint = await workspaces.checkpoint(prepared);
  const result = await workspaces.remove(prepared);
  if (result.kind === 'refused')
    return failed(`${attemptDir} was left in place: it is in use, or could not be saved`);
  const where = checkpoint === null ? '' : `; its work is at ${checkpoint.ref}`;
  done(`${describeRemoval({ runId, attemptDir, result })}${where}`);
}
