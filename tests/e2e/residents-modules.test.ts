/** Code of residents in a project whose package.json decides how Node reads a .ts file. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ComputeView } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { serve } from '../faults/killed-daemons.ts';
import { createProject } from './project.ts';
import { readJson, senseOf, serveResidents, untilResident } from './resident-project.ts';

it('what init writes loads in a project that npm init has made', { timeout: 120_000 }, async () => {
  const project = createProject();
  project.write('package.json', JSON.stringify({ name: 'fresh', type: 'commonjs' })); // as npm 11
  project.write('test-exit-code.txt', '1\n');
  rmSync(join(project.root, 'caisson.yaml'), { force: true });
  expect((await project.caisson('init', '--with', 'residents')).code).toBe(0);
  await serve(project);
  const { signals } = await readJson<ComputeView>(project, 'senses', 'trigger', 'tests');
  expect(signals.map(({ name }) => name)).toEqual(['red']);
});

it('a .ts file that is read as CommonJS says how it can be loaded', { timeout: 120_000 }, async () => {
  const { project } = await serveResidents(['senses: { old: { file: old.ts, interval: 1h } }'], {
    'package.json': JSON.stringify({ type: 'commonjs' }),
    'old.ts': senseOf(''),
  });
  await project.caisson('senses', 'trigger', 'old');
  const { problems } = await untilResident(
    project,
    'senses.old',
    (view) => view.problems?.['old'] !== undefined,
  );
  expect(problems?.['old']).toContain(
    'Rename it to .mts (or .mjs), or write "type": "module" in package.json',
  );
  const { stdout } = await project.caisson('status');
  expect(stdout).toContain('Rename it to .mts');
});

it('a package.json without a type is no matter of a log', { timeout: 120_000 }, async () => {
  const { project } = await serveResidents(['senses: { plain: { file: plain.ts, interval: 1h } }'], {
    'package.json': '{}',
    'plain.ts': senseOf(''),
  });
  const { failure } = await readJson<ComputeView>(project, 'senses', 'trigger', 'plain');
  expect(failure).toBeUndefined();
  await untilResident(project, 'senses.plain');
  const { stdout } = await project.caisson('senses', 'logs', 'plain');
  expect(stdout).not.toContain('MODULE_TYPELESS_PACKAGE_JSON');
});
