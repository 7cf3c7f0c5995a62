/** `--scope` says which files a task is about; what was changed beside them is reported. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject } from './project.ts';

const PROGRAM = 'mkdir -p src docs; echo a >src/a.ts; echo b >docs/b.md; git mv README.md src/moved.md';

it('edits outside the scope are in the result, in show and in diff', { timeout: 120_000 }, async () => {
  const project = createProject();
  const result = await project.run('--scope', 'src/**', '--', 'sh', '-c', PROGRAM);
  const outside = ['README.md', 'docs/b.md'];
  expect([result.status, result.outsideScope]).toEqual(['done', outside]);
  const lines = outside.map((path) => `outside the scope: ${path}`);
  const shown = await project.caisson('show', result.runId);
  expect(shown.stdout.match(/outside the scope: .*/g)).toEqual(lines);
  const diff = await project.caisson('diff', result.runId);
  expect(diff.stderr.match(/outside the scope: .*/g)).toEqual(lines);
  expect(diff.stdout).not.toContain('outside the scope');
  const data = await project.caisson('diff', result.runId, '-o', 'json');
  expect(JSON.parse(data.stdout)).toMatchObject({ outsideScope: outside });
  const said = await project.caisson('run', '--scope', 'src', '--', 'sh', '-c', PROGRAM);
  expect(said.stderr.match(/outside the scope: .*/g)).toEqual(lines);

  const inside = await project.run('--scope', 'src', '--scope', '*.md', '--', 'sh', '-c', PROGRAM);
  expect(inside).not.toHaveProperty('outsideScope');
  const without = await project.run('--', 'sh', '-c', PROGRAM);
  expect(without).not.toHaveProperty('outsideScope');
});

it(
  'the scope of a project below the top of its repository is relative to the project',
  { timeout: 120_000 },
  async () => {
    const whole = createProject();
    mkdirSync(join(whole.root, 'part'));
    whole.write('part/caisson.yaml', 'runtime: command\n');
    whole.git('add', '.');
    whole.git('commit', '-qm', 'part');
    const project = createProject({ at: join(whole.root, 'part'), env: whole.env });
    const program = 'mkdir -p src; echo a >src/a; echo b >../beside';
    const result = await project.run('--scope', 'src', '--', 'sh', '-c', program);
    expect(result.outsideScope).toEqual(['../beside']);
  },
);

const OVERSTEP = 'mkdir -p src; echo a >src/a.ts; echo b >beside.md';

it(
  '--apply takes nothing where the scope was overstepped, until it is asked for',
  { timeout: 120_000 },
  async () => {
    const project = createProject();
    const refused = await project.caisson('run', '--apply', '--scope', 'src', '--', 'sh', '-c', OVERSTEP);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toMatch(
      /Nothing was changed: .* outside the scope of the task\.\n {2}beside\.md\n/,
    );
    expect(project.git('status', '--porcelain')).toBe('');
    const [next = '', runId = ''] = /caisson apply (run_\w+) --outside-scope$/m.exec(refused.stdout) ?? [];
    expect(JSON.parse((await project.caisson('show', runId, '-o', 'json')).stdout)).toMatchObject({
      status: 'done',
    });
    const plain = await project.caisson('apply', runId, '-o', 'json');
    expect([plain.code, JSON.parse(plain.stdout)]).toEqual([
      1,
      { kind: 'outside-scope', files: ['beside.md'], next },
    ]);
    const asked = await project.caisson(...next.split(' ').slice(1));
    expect([asked.code, existsSync(join(project.root, 'beside.md'))]).toEqual([0, true]);
  },
);

it(
  '--branch is not made where the scope was overstepped, and the line that makes it is reported',
  { timeout: 120_000 },
  async () => {
    const project = createProject();
    const result = await project.run('--branch', 'work', '--scope', 'src', '--', 'sh', '-c', OVERSTEP);
    expect([result.cli.code, result.status, result.branch?.status]).toEqual([1, 'done', 'held']);
    expect(result.outsideScope).toEqual(['beside.md']);
    expect(project.git('branch', '--list', 'work')).toBe('');
    const [, line = ''] = /all the same: git (.*)$/.exec(result.branch?.detail ?? '') ?? [];
    project.git(...line.split(' '));
    expect(project.git('show', 'work:beside.md')).toBe('b\n');
    const inside = await project.run('--branch', 'fine', '--scope', '*', '--', 'sh', '-c', OVERSTEP);
    expect([inside.cli.code, inside.branch?.status]).toEqual([0, 'created']);
  },
);

it(
  'a branch is held for what a check wrote outside the scope, and src/ is the folder at the top',
  { timeout: 120_000 },
  async () => {
    const project = createProject();
    project.write('src/a', '1\n');
    const check = ['--verify-lens', 'verify', '--verify', 'sh src/t.sh'];
    const program = `printf 'echo more >> beside.md\\n' > src/t.sh`;
    const checked = await project.run(
      '--scope',
      'src/',
      '--branch',
      'checked',
      ...check,
      '--',
      'sh',
      '-c',
      program,
    );
    expect(checked.result?.verify?.passed).toBe(true);
    expect([checked.branch?.status, checked.outsideScope]).toEqual(['held', ['beside.md']]);

    const elsewhere = 'mkdir -p lib/src; echo 1 >lib/src/evil';
    const nested = await project.run('--scope', 'src/', '--branch', 'nested', '--', 'sh', '-c', elsewhere);
    expect([nested.branch?.status, nested.outsideScope]).toEqual(['held', ['lib/src/evil']]);
  },
);
