/**
 * kill -9 of a host, and several commands that find it dead. Kills of every part at every moment are a kind of the fault
 * harness: `npm run test:faults -- --kind kill`, with the short form in harness.test.ts.
 */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, finish, makeState, until } from '../e2e/project.ts';
import { chooseSetting } from './harness/choose.ts';
import type { Setting, Stage } from './harness/contract.ts';
import { checkAll } from './harness/invariants/check-all.ts';
import { reachPhase } from './harness/phases.ts';
import { killQuietly, openStage, runCommand } from './harness/stage.ts';
import { listFolder } from './moments.ts';

describe('kill -9', { timeout: 120_000 }, () => {
  it('of a host before it had a run leaves a socket that gc takes', async () => {
    const project = createProject({ git: false });
    const hosts = join(makeState(project), 'runtime/hosts');
    const child = project.start('run', '--', 'sleep', '60');
    await until('a socket', () => listFolder(hosts).some((name) => name.endsWith('.sock')));
    child.kill('SIGKILL');
    await finish(child);
    for (const name of listFolder(hosts)) utimesSync(join(hosts, name), 0, 0); // as if it had been there for long
    expect((await project.caisson('gc')).code).toBe(0);
    expect(listFolder(hosts)).toEqual([]);
  });

  it('is settled once when several commands find the dead host at the same time', async () => {
    const stage = await openKilled('in-place');
    const seen = await Promise.all(Array.from({ length: 4 }, () => stage.caisson('runs')));
    expect(seen.map((cli) => cli.code)).toEqual([0, 0, 0, 0]);
    expect(await findBroken(stage)).toEqual([]);
  });

  it('is settled, left locks and all, although the first command that tried was killed meanwhile', async () => {
    const stage = await openKilled('worktree');
    for (const { runId } of stage.ledger().runs()) leaveLock(stage, `refs/caisson/${runId}/base/1`);
    const recoverer = stage.project.start('runs', '--state-dir', stage.stateDir);
    const gone = finish(recoverer);
    await until('recovery has begun', () =>
      stage
        .ledger()
        .leases.listHolds()
        .some(({ name }) => name.startsWith('recover:')),
    );
    recoverer.kill('SIGKILL');
    await gone;
    expect((await stage.caisson('runs')).code).toBe(0);
    expect(await findBroken(stage)).toEqual([]);
  });
});

/** A project whose host was killed while the agent worked. */
async function openKilled(workspace: Setting['workspace']): Promise<Stage> {
  const stage = await openStage(
    chooseSetting(() => 0.5, { workspace, agent: 'writes', state: 'inside', isEndless: true }),
  );
  onTestFinished(() => stage.close());
  const host = stage.start(runCommand(stage));
  await reachPhase({ moment: 'agent', laterMs: 0 }, stage, [host]);
  killQuietly(host.pid);
  await host.ended;
  return stage;
}

/** As a git that was killed with its host leaves it. */
function leaveLock({ custody }: Stage, ref: string): void {
  mkdirSync(dirname(join(custody, ref)), { recursive: true });
  writeFileSync(join(custody, `${ref}.lock`), '');
}

function findBroken(stage: Stage): Promise<string[]> {
  return checkAll({ stage, cli: [], losesUnsynced: false }, { isBrief: true });
}
