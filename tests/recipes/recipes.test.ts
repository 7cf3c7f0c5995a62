import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, type Project } from '../e2e/project.ts';
import { followRecipes, runCommand } from './follow-recipe.ts';

const LIMIT_MS = 600_000;

it('the recipes add a command, a setting and a block kind that work', { timeout: LIMIT_MS }, async () => {
  const root = followRecipes('Add a command', 'Add a setting', 'Add a block kind');
  for (const line of ['npm run docs', 'tsc -p .', 'npm run check-boundaries', 'npm run build'])
    runCommand(root, line);
  await useCommand(root);
  await useSetting(root);
  await useBlock(root);
});

/** The user agrees with the CLI of the copy: that of this tree does not know what the file has in it. */
async function openProject(root: string, config?: string): Promise<Project> {
  const bin = join(root, 'packages/cli/bin/caisson.js');
  const project = createProject({ bin, trusts: false, ...(config === undefined ? {} : { config }) });
  if (config !== undefined) expect(await project.caisson('trust', '--yes')).toMatchObject({ code: 0 });
  return project;
}

async function useCommand(root: string): Promise<void> {
  const project = await openProject(root);
  expect(await project.caisson('greet', 'you')).toMatchObject({ code: 0, stdout: 'Hello, you.\n' });
  expect((await project.caisson('help')).stdout).toContain('greet');
  expect((await project.caisson('greet', '--help')).stdout).toContain('caisson greet');
}

async function useSetting(root: string): Promise<void> {
  expect(await readNaps(await openProject(root))).toMatchObject({ value: 1, source: 'default' });
  const project = await openProject(root, 'limits: { naps: 3 }\n');
  expect(await readNaps(project)).toMatchObject({ value: 3, source: 'file' });
  project.env['CAISSON_LIMITS_NAPS'] = '4';
  expect(await readNaps(project)).toMatchObject({ value: 4, source: 'env' });
}

async function readNaps(project: Project): Promise<unknown> {
  const { stdout } = await project.caisson('config', '-o', 'json');
  const { settings } = JSON.parse(stdout) as { settings: { key: string }[] };
  return settings.find(({ key }) => key === 'limits.naps');
}

async function useBlock(root: string): Promise<void> {
  const project = await openProject(
    root,
    `pipelines:
  my.noted:
    blocks:
      - { kind: agent }
      - { kind: note, text: seen by me }
`,
  );
  const run = await project.run('--pipeline', 'my.noted', '--', 'true');
  expect(run).toMatchObject({
    status: 'done',
    result: { blocks: [{ kind: 'agent' }, { kind: 'note', ordinal: 1, status: 'ok' }] },
  });
  const warnings = (await project.events(run.runId)).filter(({ type }) => type === 'warning');
  expect(warnings).toMatchObject([{ source: 'note', message: 'seen by me' }]);
  expect((await project.caisson('verify', run.runId)).code).toBe(0);
}
