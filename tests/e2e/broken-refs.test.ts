/** Refs of ours that a power cut left broken: they block the user's own git until they are repaired. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, finish, until, type Project } from './project.ts';

const write = (text: string): string[] => ['--', 'sh', '-c', `echo ${text} >new.txt`];
const checkpointOf = ({ runId }: { runId: string }): string => `refs/caisson/${runId}/1`;
const fileOf = ({ root }: Project, id: string): string =>
  join(root, '.git/objects', id.slice(0, 2), id.slice(2));

it(
  'gc restores those whose tree is recorded and whole, removes the others, and reports each',
  { timeout: 120_000 },
  async () => {
    const project = createProject();
    project.write('mine.txt', 'uncommitted\n'); // so that there is a ref for the base, too
    const whole = await project.run(...write('whole'));
    const torn = await project.run(...write('torn'));
    const gone = await project.run(...write('gone'));
    const commitOf = (ref: string): string => project.git('rev-parse', ref).trim();
    const base = `refs/caisson/${whole.runId}/base/1`;
    const unknown = 'refs/caisson/run_00000000000000000000/1';
    const expected = new Set([
      [checkpointOf(whole), 'empty', commitOf(checkpointOf(whole))],
      [base, 'empty', commitOf(base)],
      [checkpointOf(torn), 'garbage', null],
      [checkpointOf(gone), 'missing-object', null],
      [unknown, 'empty', null],
    ]);
    const tornBlob = fileOf(project, commitOf(`${checkpointOf(torn)}:new.txt`));
    rmSync(tornBlob);
    writeFileSync(tornBlob, '');
    rmSync(fileOf(project, commitOf(checkpointOf(gone))));
    for (const ref of [checkpointOf(whole), base, unknown]) breakRef(project, ref, '');
    breakRef(project, checkpointOf(torn), '\0\0 not an id');
    expect(() => project.git('gc', '-q')).toThrow('bad object');
    expect(() => project.git('log', '--all', '--oneline')).toThrow('bad object');

    const report = await project.caisson('gc', '-o', 'json');
    const { repairedRefs } = JSON.parse(report.stdout) as {
      repairedRefs: { ref: string; problem: string; restoredTo: string | null }[];
    };
    expect(new Set(repairedRefs.map(({ ref, problem, restoredTo }) => [ref, problem, restoredTo]))).toEqual(
      expected,
    );
    project.git('gc', '-q', '--prune=now');
    expect(project.git('show', `${checkpointOf(whole)}:new.txt`)).toBe('whole\n');

    breakRef(project, checkpointOf(whole), '');
    const { stdout } = await project.caisson('doctor', '--repair');
    expect(stdout).toContain(`${checkpointOf(whole)} was broken (empty): it is at `);
    expect(project.git('rev-parse', '--verify', checkpointOf(whole))).toMatch(/^[0-9a-f]{40}\n$/);
  },
);

it('doctor names a ref whose object is gone and a checkpoint that is not there; --repair puts back what git has', async () => {
  const project = createProject();
  const deleted = await project.run(...write('deleted'));
  const gone = await project.run(...write('gone'));
  expect((await project.caisson('doctor', '-o', 'json')).stdout).toContain('4 refs under refs/caisson');
  project.git('update-ref', '-d', checkpointOf(deleted));
  rmSync(fileOf(project, project.git('rev-parse', checkpointOf(gone)).trim()));
  const found = await project.caisson('doctor', '-o', 'json');
  expect(found.stdout).toContain(`${checkpointOf(deleted)}, which the ledger names, is gone`);
  expect(found.stdout).toMatch(
    new RegExp(`${checkpointOf(gone)} in \\S+ names an object that does not exist`),
  );
  expect(found.code).toBe(1);
  const repaired = await project.caisson('doctor', '--repair');
  expect(repaired.stdout).toContain(`${checkpointOf(deleted)} was gone: it is at `);
  expect(repaired.stdout).toContain(`${checkpointOf(gone)}, which the ledger names, is gone`);
  await project.caisson('forget', gone.runId);
  expect((await project.caisson('doctor', '-o', 'json')).stdout).toContain('2 refs under refs/caisson');
}, 60_000);

it(
  'the first command after a dead host repairs them, before it saves what that one left',
  { timeout: 120_000 },
  async () => {
    const project = createProject();
    const first = await project.run(...write('first'));
    const commit = project.git('rev-parse', checkpointOf(first));
    const host = project.start('run', '--', 'sh', '-c', 'echo second >new.txt; sleep 600');
    const listRuns = async (): Promise<{ runId: string; status: string }[]> =>
      JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { runId: string; status: string }[];
    const worktrees = join(project.root, '.caisson/worktrees');
    await until(
      'the work',
      () => execFileSync('find', [worktrees, '-name', 'new.txt', '-size', '+0']).length > 0,
    );
    host.kill('SIGKILL');
    await finish(host);
    breakRef(project, checkpointOf(first), '');
    // Git takes an object without bytes for one that is there, and does not write it again.
    const id = execFileSync('git', ['hash-object', '--stdin'], {
      input: 'second\n',
      encoding: 'utf8',
    }).trim();
    mkdirSync(dirname(fileOf(project, id)), { recursive: true });
    writeFileSync(fileOf(project, id), '');

    const [second] = await listRuns();
    expect(second?.status).toBe('interrupted');
    expect(project.git('rev-parse', checkpointOf(first))).toBe(commit);
    expect(project.git('show', `${checkpointOf(second ?? first)}:new.txt`)).toBe('second\n');
  },
);

it('gc in a repository that git refuses to read says so, and collects the rest', async () => {
  const project = createProject();
  await project.run(...write('work'));
  writeFileSync(join(project.root, '.git/HEAD'), 'garbage\n');
  const { code, stdout, stderr } = await project.caisson('gc');
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('freed');
  expect(stderr).toContain('not a git repository');
}, 60_000);

function breakRef({ root }: Project, ref: string, text: string): void {
  const file = join(root, '.git', ref);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
