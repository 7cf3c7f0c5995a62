import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createProject, finish } from './project.ts';

test('an apply that was killed is undone by the next command, which says so', async () => {
  const project = createProject();
  const script = 'for n in $(seq 1500); do echo new > file$n.txt; done; echo changed > README.md';
  const { runId } = await project.run('--', 'sh', '-c', script);
  const folder = join(project.root, '.caisson/tmp');
  const isAtWork = (): boolean =>
    existsSync(folder) && readdirSync(folder).some((name) => existsSync(join(folder, name, 'plan.json')));
  while (!isAtWork()) {
    const apply = project.start('apply', runId);
    const applied = finish(apply);
    while (apply.exitCode === null && !isAtWork()) await setTimeout(1);
    apply.kill('SIGKILL');
    await applied;
    if (isAtWork()) break;
    project.git('checkout', '-q', '.'); // it was too fast for us
    project.git('clean', '-fdq');
  }
  const shown = await project.caisson('runs');
  expect(shown.stderr).toContain('note: an interrupted apply was undone: 1501 paths');
  expect(project.git('status', '--porcelain')).toBe('');
  expect(project.git('diff', 'HEAD')).toBe('');
  expect((await project.caisson('apply', runId)).code).toBe(0);
  expect(readFileSync(join(project.root, 'README.md'), 'utf8')).toBe('changed\n');
});
