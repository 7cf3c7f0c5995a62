import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseRemoteAddress } from '@caisson/ground';
import { expect, onTestFinished, test } from 'vitest';

import { REMOTES } from './custody.ts';
import { createWorkspaces } from './index.ts';
import { createScratchProject, STAMP } from './scratch-project-stage.ts';

const DAY_MS = 86_400_000;

function openRemote() {
  const project = createScratchProject();
  onTestFinished(() => project.dispose());
  project.write('a.txt', 'one\n');
  project.commit('first');
  const stateDir = join(project.root, '.caisson');
  const remote = parseRemoteAddress(project.root, project.root);
  const workspaces = createWorkspaces({ home: project.root, stamp: STAMP });
  const fetch = (runId: string) =>
    workspaces.fetchBase({
      ...{ stateDir, remote, access: {}, timeoutMs: 60_000, runId, attempt: 1, maxBytes: 2 ** 30 },
    });
  const prune = (more: { olderThanMs?: number; openRunMs?: () => number } = {}) =>
    workspaces.pruneRemotes({
      ...{ stateDir, olderThanMs: 30 * DAY_MS, graceMs: DAY_MS, openRunMs: () => 0 },
      ...more,
    });
  return { project, stateDir, workspaces, fetch, prune, url: remote.url };
}

/** As if the copy had been used last so many days ago. */
function age(cache: string, days: number): void {
  const then = Date.now() / 1000 - (days * DAY_MS) / 1000;
  utimesSync(join(cache, 'caisson-use'), then, then);
}

test('a copy that no run needs goes when it was not used for long enough, and is fetched again when it is needed', async () => {
  const { workspaces, fetch, prune, url, stateDir } = openRemote();
  const base = await fetch('run_one');
  age(base.dir, 31);
  expect(await prune()).toEqual([]); // the run has its base there
  await workspaces.unpinBase(stateDir, base.url, { runId: 'run_one', attempt: 1 });
  age(base.dir, 29);
  expect(await prune()).toEqual([]);
  age(base.dir, 31);
  expect(await prune({ openRunMs: () => 32 * DAY_MS })).toEqual([]);
  expect(await prune()).toEqual([{ path: base.dir, url, bytes: expect.any(Number) as number }]);
  expect(existsSync(base.dir)).toBe(false);
  expect(await fetch('run_two')).toEqual(base);
  expect(await prune()).toEqual([]);
});

test('a branch that is on no remote keeps its copy, however old that is', async () => {
  const { workspaces, fetch, prune, stateDir } = openRemote();
  const base = await fetch('run_one');
  execFileSync('git', [`--git-dir=${base.dir}`, 'branch', 'work', base.commit]);
  await workspaces.unpinBase(stateDir, base.url, { runId: 'run_one', attempt: 1 });
  age(base.dir, 4000);
  expect(await prune({ olderThanMs: 0 })).toEqual([]);
});

test('many fetches and clean-ups at once disturb each other in nothing', async () => {
  const { workspaces, fetch, prune, stateDir } = openRemote();
  const runs = Array.from({ length: 24 }, (_, index) => `run_${index}`);
  const bases = await Promise.all(
    runs.flatMap((runId) => [
      fetch(runId).then(async (base) => {
        execFileSync('git', [`--git-dir=${base.dir}`, 'cat-file', '-e', `${base.commit}:a.txt`]);
        await workspaces.unpinBase(stateDir, base.url, { runId, attempt: 1 });
      }),
      // The runs are open, so what they use is in use since the oldest of them began.
      prune({ olderThanMs: 0, openRunMs: () => 60_000 }),
    ]),
  );
  expect(bases.flat().filter((dropped) => dropped !== undefined)).toEqual([]);
  expect(await prune({ olderThanMs: 0 })).toHaveLength(1);
  expect(readdirSync(join(stateDir, REMOTES))).toEqual([]);
});

test('what a killed fetch left is removed, and a copy of many packs becomes one of few', async () => {
  const { project, stateDir, fetch, prune } = openRemote();
  const { dir } = await fetch('run_0');
  for (let index = 1; index <= 22; index += 1) {
    project.write('a.txt', `${index}\n`);
    project.commit(`change ${index}`);
    await fetch(`run_${index}`);
  }
  const listPacks = () => readdirSync(join(dir, 'objects/pack')).filter((name) => name.endsWith('.pack'));
  expect(listPacks().length).toBeGreaterThan(20);
  const left = `${dir}.run_dead.1`;
  const draft = join(dir, 'objects/pack/tmp_pack_x');
  mkdirSync(left);
  writeFileSync(draft, 'half');
  for (const path of [left, draft]) utimesSync(path, 1, 1);
  await prune();
  expect([listPacks().length < 3, existsSync(left), existsSync(draft)]).toEqual([true, false, false]);
  execFileSync('git', [`--git-dir=${dir}`, 'fsck', '--full', '--strict', '--no-dangling']);
  expect(existsSync(join(stateDir, REMOTES))).toBe(true);
});
