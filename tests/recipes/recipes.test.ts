/** One copy of the tree in which every recipe was followed, and one build of it: a build takes longer than its tests. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createProject, type Project } from '../e2e/project.ts';
import { copyTree, followRecipes, runCommand } from './follow-recipe.ts';

const RECIPES = ['Add a runtime', 'Add an event', 'Add a command', 'Add a setting', 'Add a block kind'];
const ENDS_WITH = [
  'npm run docs',
  'npm run format -- --check',
  'oxlint',
  'tsc -p .',
  'npm run check-boundaries',
  'knip --no-progress',
  'node scripts/check-words.ts',
];

const AGENT = `#!/bin/sh
[ "$1" = --version ] && echo 1.0.0 && exit 0
task=$(cat)
echo '{"type":"session","id":"s1"}'
echo '{"type":"turn"}'
printf '{"tool_name":"toy_do","tool_input":{"command":"git push --force origin main"}}' | sh -c "$TOY_GATE" 2>/dev/null && touch pushed
[ -e .toy/settings.json ] && touch obeyed
echo made > made.txt
echo '{"type":"usage","input":40,"output":2}'
echo '{"type":"answer","text":"I made it."}'
`;

let root = '';

vi.setConfig({ testTimeout: 120_000 });

beforeAll(() => {
  root = copyTree();
  followRecipes(root, RECIPES);
  runCommand(root, 'git init --quiet && git add --all'); // the check of words reads what git has
  for (const line of [...ENDS_WITH, 'npm run build']) runCommand(root, line);
}, 600_000);

afterAll(() => {
  if (root !== '') rmSync(root, { recursive: true, force: true });
});

it('the recipe adds a runtime that is listed, documented, gated and run', async () => {
  expect(readFileSync(join(root, 'docs/reference/runtimes.md'), 'utf8')).toContain('| `toy` |');
  const programs = join(root, 'programs');
  mkdirSync(programs);
  writeFileSync(join(programs, 'toy-agent'), AGENT, { mode: 0o755 });
  const PATH = `${programs}:${dirname(process.execPath)}:/usr/bin:/bin`;
  const project = createProject({ env: { PATH }, bin: builtCli() });
  project.write('.toy/settings.json', '{}');
  project.git('add', '.toy');
  project.git('commit', '-qm', 'settings');
  const ran = await project.run('--runtime', 'toy', 'make it');
  expect([ran.failure, ran.status, ran.reply]).toEqual([undefined, 'done', 'I made it.']);
  expect(ran.result?.usage).toMatchObject({ inputTokens: 40, outputTokens: 2, turns: 1 });
  expect(ran.result?.policy.denials).toMatchObject([{ layer: 'gate', actionClass: 'git_destructive' }]);
  const { stdout: diff } = await project.caisson('diff', ran.runId);
  expect([diff.includes('+made'), diff.includes('pushed'), diff.includes('obeyed')]).toEqual([
    true,
    false,
    false,
  ]);
  expect((await project.caisson('runtimes')).stdout).toMatch(/toy/);
});

it('the recipe adds an event that is documented, recorded, shown and sealed', async () => {
  expect(readFileSync(join(root, 'docs/reference/events.md'), 'utf8')).toContain('workspace.prepared');
  const project = await openProject();
  const { runId } = await project.run('--', 'true');
  const events = await project.events(runId);
  const recorded = events.filter(({ type }) => type === 'workspace.prepared');
  expect(recorded).toMatchObject([{ attempt: 1, kind: 'worktree' }]);
  expect((await project.caisson('logs', runId)).stdout).toMatch(/workspace\.prepared +worktree in \//);
  expect((await project.caisson('verify', runId)).code).toBe(0);
});

it('the recipe adds a command that is listed and runs', async () => {
  const project = await openProject();
  expect(await project.caisson('greet', 'you')).toMatchObject({ code: 0, stdout: 'Hello, you.\n' });
  expect((await project.caisson('help')).stdout).toContain('greet');
  expect((await project.caisson('greet', '--help')).stdout).toContain('caisson greet');
});

it('the recipe adds a setting that has a default, a place in the file and a variable', async () => {
  expect(await readNaps(await openProject())).toMatchObject({ value: 1, source: 'default' });
  const project = await openProject('limits: { naps: 3 }\n');
  expect(await readNaps(project)).toMatchObject({ value: 3, source: 'file' });
  project.env['CAISSON_LIMITS_NAPS'] = '4';
  expect(await readNaps(project)).toMatchObject({ value: 4, source: 'env' });
});

it('the recipe adds a block kind that a pipeline runs', async () => {
  const project = await openProject(`pipelines:
  my.noted:
    blocks:
      - { kind: agent }
      - { kind: note, text: seen by me }
`);
  const run = await project.run('--pipeline', 'my.noted', '--', 'true');
  expect(run).toMatchObject({
    status: 'done',
    result: { blocks: [{ kind: 'agent' }, { kind: 'note', ordinal: 1, status: 'ok' }] },
  });
  const warnings = (await project.events(run.runId)).filter(({ type }) => type === 'warning');
  expect(warnings).toMatchObject([{ source: 'note', message: 'seen by me' }]);
  expect((await project.caisson('verify', run.runId)).code).toBe(0);
});

function builtCli(): string {
  return join(root, 'packages/cli/bin/caisson.js');
}

/** The user agrees with the CLI of the copy: that of this tree does not know what the file has in it. */
async function openProject(config?: string): Promise<Project> {
  const project = createProject({
    bin: builtCli(),
    trusts: false,
    ...(config === undefined ? {} : { config }),
  });
  if (config !== undefined) expect(await project.caisson('trust', '--yes')).toMatchObject({ code: 0 });
  return project;
}

async function readNaps(project: Project): Promise<unknown> {
  const { stdout } = await project.caisson('config', '-o', 'json');
  const { settings } = JSON.parse(stdout) as { settings: { key: string }[] };
  return settings.find(({ key }) => key === 'limits.naps');
}
