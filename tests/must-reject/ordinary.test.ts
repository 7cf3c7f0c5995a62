/** Thirty ordinary repositories: nothing of them is refused, asked about or warned of. */
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, ROOT } from '../e2e/project.ts';

const MODULES = join(ROOT, 'node_modules');
const COUNT = 30;

/** Packages with sources of their own, large enough to be a project and small enough to be copied. */
const PACKAGES = readdirSync(MODULES)
  .filter((name) => !name.startsWith('.') && !name.startsWith('@') && isProject(join(MODULES, name)))
  .slice(0, COUNT);

function isProject(folder: string): boolean {
  if (!existsSync(join(folder, 'package.json'))) return false;
  const files = readdirSync(folder, { recursive: true });
  return files.length >= 5 && files.length < 300;
}

it('there are thirty of them', () => {
  expect(PACKAGES).toHaveLength(COUNT);
});

it.each(PACKAGES)('%s is no alarm', { timeout: 60_000 }, async (name) => {
  const project = createProject({ trusts: false });
  cpSync(join(MODULES, name), project.root, { recursive: true, dereference: true });
  project.git('add', '-f', '.');
  project.git('commit', '-qm', 'second');
  project.write('CHANGES', readFileSync(join(project.root, 'package.json'), 'utf8'));
  project.git('add', 'CHANGES');
  project.git('commit', '-qm', 'third');
  const bump = `const { readFileSync, writeFileSync } = require('node:fs');
    const about = JSON.parse(readFileSync('package.json', 'utf8'));
    about.version = '99.0.0';
    about.dependencies = { ...about.dependencies, lodash: '^4.0.0' };
    writeFileSync('package.json', JSON.stringify(about, null, 2));`;
  project.write('bump.cjs', bump);
  const script = `${process.execPath} bump.cjs; echo "// a change" >> CHANGES; echo new > new-file.js`;
  const run = await project.run('--', 'sh', '-c', script);
  expect(run).toMatchObject({ status: 'done', cli: { code: 0 } });
  expect(run.cli.stderr).not.toMatch(/warning|denied|trust|risky/i);
  const applied = await project.caisson('apply', run.runId);
  expect(applied, applied.stderr).toMatchObject({ code: 0 });
  expect(readFileSync(join(project.root, 'new-file.js'), 'utf8')).toBe('new\n');
});
