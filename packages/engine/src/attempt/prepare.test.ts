import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { admit } from '../admission/admit.ts';
import { openRooms, prepareRun } from '../admission/fixtures/open-rooms.ts';
import { PrepareFailure } from './prepare-failure.ts';
import { prepare } from './prepare.ts';
import { attemptPaths } from './state-paths.ts';

test('an attempt has its workspace and a job file that only its user can read; discard removes both', async () => {
  const { rooms } = await openRooms();
  const { prepared } = await prepareRun(rooms, { argv: ['true'] });
  const { paths, workspace, job } = prepared;
  expect(readFileSync(join(workspace.path, 'README.md'), 'utf8')).toBe('# sample\n');
  expect(statSync(paths.job).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(paths.job, 'utf8'))).toEqual(JSON.parse(JSON.stringify(job)));
  await prepared.discard();
  expect([paths.job, paths.captures, workspace.path].filter(existsSync)).toEqual([]);
});

test('a host that stays lists what the sandbox shows of the system, once for attempts that come together', async () => {
  const { rooms } = await openRooms();
  const spares = { ...rooms.compute.spares, keepsNext: true };
  const staying = { ...rooms, compute: { ...rooms.compute, spares } };
  const jobs = [];
  for (const host of [rooms, staying, staying])
    jobs.push((await prepareRun(host, { argv: ['true'], workspace: 'empty' })).prepared.job);
  const [alone, first, second] = jobs.map((job) => job.sandbox.view);
  expect(alone).toBeUndefined();
  expect(first?.roots).toContain('/etc');
  const apartMs = (second?.listedAtMs ?? 0) - (first?.listedAtMs ?? 0);
  expect(apartMs === 0 || apartMs > 500).toBe(true);
});

test('a repetition without the variables of the first request fails before anything is prepared', async () => {
  const { rooms } = await openRooms();
  const { runId: earlier } = await admit(rooms, { argv: ['true'] });
  const run = await admit(rooms, { argv: ['true'], lackingEnv: ['ZONE'], continues: earlier });
  expect(run.retries).toBe(0); // none of them would have it either
  const record = rooms.recorder.of(run.runId, run.trace);
  await expect(prepare(rooms, run, record, 1, new AbortController().signal)).rejects.toMatchObject({
    failure: { reason: 'fetch-failed', detail: expect.stringContaining('--env ZONE=') as string },
  });
});

test('a secret that cannot be fetched fails the attempt by its step, and takes back what was prepared', async () => {
  const { rooms } = await openRooms();
  const run = await admit(rooms, { argv: ['true'], secrets: { TOKEN: 'exec:exit 3' } });
  const record = rooms.recorder.of(run.runId, run.trace);
  const failed = prepare(rooms, run, record, 1, new AbortController().signal);
  await expect(failed).rejects.toThrow(PrepareFailure);
  await expect(failed).rejects.toMatchObject({ failure: { reason: 'fetch-failed', step: 7 } });
  const paths = attemptPaths(rooms.settings.stateDir, run.runId, 1);
  expect([paths.job, paths.captures, paths.mailbox, paths.spool].filter(existsSync)).toEqual([]);
});
