import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createProject } from './project.ts';

test('gc and forget take what workers and background hosts left in the state folder', async () => {
  const project = createProject();
  const runtime = join(project.root, '.caisson/runtime');
  const left = (): string[] =>
    ['events', 'background'].flatMap((folder) =>
      existsSync(join(runtime, folder)) ? readdirSync(join(runtime, folder)) : [],
    );
  const detached = await project.caisson('run', '--detach', '--', 'true');
  await project.caisson('logs', detached.stdout.trim(), '-f');
  expect((await project.caisson('run', '--detach', '--mode', 'nonsense', '--', 'true')).code).not.toBe(0);
  expect(left().length).toBeGreaterThanOrEqual(2);
  await project.caisson('forget', detached.stdout.trim());
  expect(left().filter((name) => name.startsWith(detached.stdout.trim()))).toEqual([]);
  await project.run('--', 'true');
  await project.caisson('gc', '--older-than', '1ms');
  expect(left()).toEqual([]);
});
