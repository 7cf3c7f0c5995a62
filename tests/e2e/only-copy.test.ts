/** Work that no checkpoint has is never deleted by itself. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject } from './project.ts';

interface Report {
  readonly heldBack: readonly string[];
  readonly workspaces: readonly string[];
}

it(
  'a file over the capture limit outlives gc, and goes when the user takes it or says so',
  { timeout: 120_000 },
  async () => {
    const project = createProject({ config: 'limits: { captureFile: 1k }\n' });
    const program = 'mkdir -p deep; head -c 5000 /dev/zero | tr "\\0" x >deep/large; echo small >small';
    const gc = async (...args: string[]): Promise<Report> =>
      JSON.parse(
        (await project.caisson('gc', '--older-than', '1ms', '-o', 'json', ...args)).stdout,
      ) as Report;
    const first = await project.run('--', 'sh', '-c', program);
    const second = await project.run('--', 'sh', '-c', program);
    const places = [first, second].map(({ runId }) => join(project.root, '.caisson/held-back', `${runId}.1`));
    const [place = '', other = ''] = places;

    expect(first.stderr + (await project.caisson('show', first.runId)).stdout).toContain(
      `too large to be captured (limits.captureFile, limits.capture), so not in the patch: deep/large (5000 bytes); kept in ${place} until`,
    );
    expect(await gc()).toMatchObject({
      heldBack: places,
      workspaces: [],
    });
    expect(readFileSync(join(place, 'deep/large'), 'utf8')).toBe('x'.repeat(5000));
    expect((await project.caisson('gc')).stdout).toContain(`kept, because it is the only copy: ${place}`);

    rmSync(join(place, 'deep/large'));
    expect(await gc()).toMatchObject({ heldBack: [other], workspaces: [place] });
    expect(await gc('--held-back')).toMatchObject({ heldBack: [], workspaces: [other] });

    const third = await project.run('--', 'sh', '-c', program);
    await project.caisson('forget', third.runId);
    expect((await gc()).heldBack).toEqual([]);
  },
);

it('what an earlier version left unsaved in the trash stays as well', { timeout: 120_000 }, async () => {
  const project = createProject();
  await project.run('--', 'true');
  const left = join(project.root, '.caisson/trash/run_00000000000000000000.1');
  mkdirSync(left, { recursive: true });
  project.write('.caisson/trash/run_00000000000000000000.1/trashed', 'unsaved\n');
  await project.caisson('gc', '--older-than', '1ms');
  expect(existsSync(left)).toBe(true);
});

it('what an agent stashed is kept when the run is stopped', { timeout: 120_000 }, async () => {
  const project = createProject();
  const program = 'echo x >>a.txt; git add -A; git stash -q; sleep 30';
  const { runId } = await project.run('--timeout', '3s', '--', 'sh', '-c', program);
  expect(project.git('show', `refs/caisson/${runId}/heads/1/stash:a.txt`)).toContain('x');
});

it('commits on another branch are shown wherever the patch is', { timeout: 120_000 }, async () => {
  const project = createProject();
  const program =
    'echo x >>a.txt; git add -A; git commit -qm mine; git switch -qc feature; git commit -qm more --allow-empty; git switch -q main';
  const { runId, beside } = await project.run('--', 'sh', '-c', program);
  const ref = `refs/caisson/${runId}/heads/1/feature`;
  expect(beside).toEqual([{ what: `commits in ${ref}`, get: `git merge ${ref}` }]);
  const line = `not in the patch: commits in ${ref}; get it: git merge ${ref}`;
  expect((await project.caisson('show', runId)).stdout).toContain(line);
  for (const command of ['diff', 'apply'])
    expect((await project.caisson(command, runId)).stderr).toContain(line);

  const hidden = 'git switch -qc feature; echo y >>a.txt; git commit -qam mine; git switch -q main';
  const second = await project.run('--', 'sh', '-c', hidden);
  expect((await project.caisson('diff', second.runId)).stderr).not.toContain('changed nothing');
  expect((await project.caisson('show', second.runId)).stdout).not.toMatch(/^ *nothing$/m);
});

it('what a run hides by ignore rules of its own is named and outlives gc', { timeout: 120_000 }, async () => {
  const project = createProject();
  const program =
    'printf "*\\n" >.gitignore; echo precious >work.txt; mkdir -p deep node_modules; echo more >deep/file; echo p >node_modules/p';
  const { runId, beside } = await project.run('--', 'sh', '-c', program);
  const place = join(project.root, '.caisson/held-back', `${runId}.1`);
  const warnings = (await project.events(runId)).filter(({ type }) => type === 'warning');
  expect(warnings.map((warning) => warning['message'])).toEqual([
    `ignored by rules that the run wrote, so not in the patch: .gitignore, deep, work.txt; get all: cp -r ${place}/. .`,
  ]);
  expect(beside?.map(({ get }) => get).toSorted()).toEqual(
    ['.gitignore', 'deep', 'work.txt'].map((name) => `cp -r ${join(place, name)} .`),
  );
  await project.caisson('gc', '--older-than', '1ms');
  expect(readFileSync(join(place, 'work.txt'), 'utf8')).toBe('precious\n');
  expect(readFileSync(join(place, 'deep/file'), 'utf8')).toBe('more\n');
  expect((await project.caisson('diff', runId)).stderr).toContain('not in the patch: work.txt');
});

it('gc --held-back deletes what gc names, and names what it deletes', { timeout: 120_000 }, async () => {
  const project = createProject({ config: 'limits: { captureFile: 1k }\n' });
  const run = await project.run('--', 'sh', '-c', 'head -c 5000 /dev/zero >large');
  const place = join(project.root, '.caisson/held-back', `${run.runId}.1`);
  const named = await project.caisson('gc', '--older-than', '0s');
  expect([named.code, named.stdout]).toEqual([0, expect.stringContaining(`the only copy: ${place}`)]);
  const young = await project.caisson('gc', '--held-back', '--older-than', '1d');
  expect([young.stdout, existsSync(place)]).toEqual([
    expect.stringContaining(`the only copy: ${place}`),
    true,
  ]);
  const deleted = await project.caisson('gc', '--held-back');
  expect([deleted.stdout, existsSync(place)]).toEqual([expect.stringContaining(`for good: ${place}`), false]);
});

it('a line to be copied runs nothing that the agent put into a name', { timeout: 120_000 }, async () => {
  const project = createProject({ folder: 'my project' });
  const program =
    "git init -q -b work 'sub;touch nested'; cd sub*; git -c user.name=A -c user.email=a@example.invalid commit -qm one --allow-empty; echo 1 >file; cd ..; git switch -qc 'x$(touch${IFS}branch)'; echo y >y; git add y; git commit -qm mine; git switch -q main; printf '*.z\\n' >.gitignore; echo z >'a;touch file.z'";
  const { beside = [] } = await project.run('--', 'sh', '-c', program);
  expect(beside.map(({ what }) => what).join()).toMatch(/a;touch file\.z.*sub;touch nested/);
  for (const { get } of beside) execFileSync('sh', ['-c', `${get} || true`], { cwd: project.root });
  for (const made of ['branch', 'file.z', 'nested']) expect(existsSync(join(project.root, made))).toBe(false);
  expect(readFileSync(join(project.root, 'a;touch file.z'), 'utf8')).toBe('z\n');
  const cloned = /([^/]*)\.bundle/.exec(
    beside.find(({ get }) => get.startsWith('git clone'))?.get ?? '',
  )?.[1];
  expect(project.git('-C', cloned ?? '', 'log', '--format=%s')).toBe('one\n');
});
