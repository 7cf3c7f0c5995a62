/** A ledger that was moved away: what its runs have stays until a person gives them up. */
import { cpSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import type { GarbageReport } from '@caisson/engine';
import { createProject, type Project } from './project.ts';

const KEPT = /no blob was removed: another ledger was in the place of/;
const ledger = (project: Project, ...names: string[]): string =>
  join(project.root, '.caisson', ...(names.length === 0 ? ['ledger.db'] : names));

async function work(project: Project, text: string): Promise<string> {
  const run = await project.run('--', 'sh', '-c', `echo ${text}; echo ${text} > new.txt`);
  expect(run.status).toBe('done');
  return run.runId;
}

/** Moves the ledger away, and returns what puts it back. */
function moveAway(project: Project): () => void {
  const away = join(dirname(project.root), 'away.db');
  renameSync(ledger(project), away);
  for (const side of ['-wal', '-shm']) rmSync(`${ledger(project)}${side}`, { force: true });
  return () => {
    for (const side of ['-wal', '-shm']) rmSync(`${ledger(project)}${side}`, { force: true });
    cpSync(away, ledger(project));
  };
}

async function collect(project: Project): Promise<{ blobs: number; stderr: string }> {
  const { code, stdout, stderr } = await project.caisson('gc', '--older-than', '0s', '-o', 'json');
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return { blobs: (JSON.parse(stdout) as GarbageReport).blobs, stderr };
}

async function findProbe(project: Project, id: string): Promise<{ verdict: string; remedy?: string }> {
  const { stdout } = await project.caisson('doctor', '-o', 'json');
  const { probes } = JSON.parse(stdout) as { probes: { id: string; verdict: string; remedy?: string }[] };
  const [found] = probes.filter((probe) => probe.id === id);
  if (found === undefined) throw new Error(`no probe ${id} in ${stdout}`);
  return found;
}

it('gc beside a new ledger keeps the blobs of the one before, also after new seals, until it is accepted', async () => {
  const project = createProject();
  const runs = [await work(project, 'one'), await work(project, 'two')];
  const putBack = moveAway(project);
  expect(await collect(project)).toEqual({ blobs: 0, stderr: expect.stringMatching(KEPT) as string });
  for (const text of ['three', 'four']) {
    await work(project, text);
    expect(await collect(project)).toEqual({ blobs: 0, stderr: expect.stringMatching(KEPT) as string });
  }
  expect(await findProbe(project, 'ledger-head')).toMatchObject({
    verdict: 'warn',
    remedy: expect.stringContaining('Put the ledger with these runs back') as string,
  });
  expect((await findProbe(project, 'checkpoints')).remedy).not.toContain('update-ref -d');
  putBack();
  const all = await project.caisson('verify', '--all');
  expect([all.code, all.stdout]).toEqual([0, expect.stringContaining('verified  2 runs')]);
  for (const run of runs) expect((await project.caisson('diff', run)).stdout).toContain('new.txt');
  // The other one is missing now, and its runs have files here, too.
  await work(project, 'five');
  expect(await collect(project)).toEqual({ blobs: 0, stderr: expect.stringMatching(KEPT) as string });
  expect((await project.caisson('doctor', '--accept-ledger')).code).toBe(0);
  expect(await findProbe(project, 'ledger-head')).toMatchObject({ verdict: 'ok' });
  const swept = await collect(project);
  expect(swept.blobs).toBeGreaterThan(0);
  expect(swept.stderr).not.toMatch(KEPT);
  expect((await project.caisson('verify', '--all')).code).toBe(0);
}, 120_000);

it('forget beside a new ledger removes no blob that a run of the one before may have, and says so', async () => {
  const project = createProject();
  const first = await work(project, 'same');
  const putBack = moveAway(project);
  const second = await work(project, 'same');
  const forgotten = await project.caisson('forget', second);
  expect([forgotten.code, forgotten.stderr]).toEqual([0, expect.stringMatching(KEPT)]);
  putBack();
  expect((await project.caisson('verify', first)).code).toBe(0);
}, 60_000);

it('a daemon keeps them too', async () => {
  const project = createProject();
  const first = await work(project, 'one');
  const putBack = moveAway(project);
  await work(project, 'two');
  expect((await project.caisson('up', '-d')).code).toBe(0);
  expect((await collect(project)).blobs).toBe(0);
  expect((await project.caisson('down')).code).toBe(0);
  putBack();
  expect((await project.caisson('verify', first)).code).toBe(0);
}, 60_000);

it('a state folder that was begun anew has no files of the one before, and gc cleans up in it', async () => {
  const project = createProject();
  await work(project, 'one');
  rmSync(join(project.root, '.caisson'), { recursive: true });
  await work(project, 'two');
  await project.caisson('forget', 'latest');
  expect((await collect(project)).stderr).not.toMatch(KEPT);
  expect(readdirSync(ledger(project, 'store')).length).toBeGreaterThan(0);
}, 60_000);
