/** `--scope` says which files a task is about; what was changed beside them is reported. */
import { mkdirSync } from 'node:fs';
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
  expect(said.stdout.match(/outside the scope: .*/g)).toEqual(lines);

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
