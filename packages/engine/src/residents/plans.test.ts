import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ResidentGrant, ResidentSettings, SenseSettings } from './contract.ts';
import { composePlans } from './plans.ts';

const grant: ResidentGrant = { read: [], write: [], hosts: [], limits: { memory: 1, pids: 1, disk: 1 } };

async function openProject(files: Readonly<Record<string, string>>) {
  const root = await mkdtemp(join(tmpdir(), 'plans-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const write = async (name: string, text: string): Promise<void> => {
    await mkdir(join(root, name, '..'), { recursive: true });
    await writeFile(join(root, name), text);
  };
  for (const [name, text] of Object.entries(files)) await write(name, text);
  const sense = (name: string, rest: Partial<SenseSettings> = {}): SenseSettings => ({
    name,
    file: join(root, `${name}.ts`),
    group: 'ci',
    on: [],
    throttleMs: 0,
    timeoutMs: 1,
    graceMs: 1,
    grant,
    ...rest,
  });
  const digests = async (settings: ResidentSettings): Promise<Record<string, string>> =>
    Object.fromEntries((await composePlans(root, settings)).map(({ plan }) => [plan.key, plan.digest]));
  return { root, write, sense, digests };
}

test('a plan changes with its file and with what that imports, and with nothing else', async () => {
  const { root, write, sense, digests } = await openProject({
    'a.ts': "import { read } from './lib/read.ts';\nimport type { X } from './types';\nexport default 1;",
    'b.ts': "export * from './missing.ts';",
    'lib/read.ts': "const later = () => import('../late.mjs');",
    'late.mjs': '1',
    'types.ts': '',
    'other.ts': '',
  });
  const settings = { senses: [sense('a'), sense('b', { group: 'other' })], workflows: [] };
  const [plan] = await composePlans(root, settings);
  expect(plan?.files.map((file) => file.slice(root.length + 1)).sort()).toEqual([
    'a.ts',
    'late.mjs',
    'lib/read.ts',
    'types.ts',
  ]);
  let before = await digests(settings);
  const changedBy = async (name: string): Promise<string[]> => {
    await write(name, `// changed ${name}`);
    const after = await digests(settings);
    const changed = Object.keys(after).filter((key) => after[key] !== before[key]);
    before = after;
    return changed;
  };
  expect(await changedBy('other.ts')).toEqual([]);
  expect(await changedBy('late.mjs')).toEqual(['senses.ci']);
  expect(await changedBy('lib/read.ts')).toEqual(['senses.ci']);
  expect(await changedBy('missing.ts')).toEqual(['senses.other']);
  expect(await changedBy('b.ts')).toEqual(['senses.other']);
});

test('senses of a group share a plan that allows what each asked for; a timeout changes no plan', async () => {
  const { root, sense, digests } = await openProject({ 'a.ts': '', 'b.ts': '' });
  const other: ResidentGrant = { ...grant, hosts: ['x.org:443'], limits: { memory: 9, pids: 1, disk: 1 } };
  const senses = [sense('a'), sense('b', { grant: other })];
  const workflow = {
    name: 'fix',
    file: join(root, 'a.ts'),
    on: [],
    concurrency: 1,
    overflow: 'queue',
    grant,
  };
  const plans = await composePlans(root, { senses, workflows: [workflow] });
  expect(
    plans.map(({ plan: { key, modules, kind } }) => [key, kind, modules.map(({ name }) => name)]),
  ).toEqual([
    ['senses.ci', 'senses', ['a', 'b']],
    ['workflow.fix', 'workflow', ['fix']],
  ]);
  expect(plans[0]?.plan.grant).toMatchObject({ hosts: ['x.org:443'], limits: { memory: 9 } });
  const slower = senses.map((each) => ({ ...each, timeoutMs: 2, intervalMs: 3 }));
  expect(await digests({ senses: slower, workflows: [] })).toEqual(await digests({ senses, workflows: [] }));
});

test('imports that lead in a circle, or out of the project, are followed no further', async () => {
  const { root, sense } = await openProject({
    'a.ts': "import './b.ts'; import '../../../etc/hostname';",
    'b.ts': "import './a.ts';",
  });
  const [plan] = await composePlans(root, { senses: [sense('a')], workflows: [] });
  expect(plan?.files).toEqual([join(root, 'a.ts'), join(root, 'b.ts')]);
});
