import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createProject, until } from './project.ts';

test('hosts in the foreground and in the background take their own files away', async () => {
  const project = createProject();
  const runtime = join(project.root, '.caisson/runtime');
  const left = (): string[] =>
    ['events', 'background', 'results', 'spool'].flatMap((folder) =>
      existsSync(join(runtime, folder)) ? readdirSync(join(runtime, folder)) : [],
    );
  const detached = await project.caisson('run', '--detach', '--', 'true');
  const runId = detached.stdout.trim();
  await project.caisson('logs', runId, '-f');
  await until('the background host is done', () => !left().some((name) => name.startsWith(runId)));
  const refused = await project.caisson('run', '--detach', '--base', 'nonsense', '--', 'true');
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('names no commit') as string });
  await project.run('--', 'true');
  expect(left()).toEqual([]);
});
