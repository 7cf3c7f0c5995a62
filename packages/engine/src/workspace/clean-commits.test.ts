import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRedactor } from '@caisson/ground';
import { afterEach, beforeEach, expect, it } from 'vitest';

import type { PreparedWorkspace } from './index.ts';
import { createScratchProject, gitIn, type ScratchProject } from './scratch-project-stage.ts';

const SECRET = 'tok-3kQ9vXz7Lw2T';
const { redactBytes: clean } = createRedactor([{ name: 'TOKEN', value: SECRET }]);

let project: ScratchProject;
beforeEach(() => {
  project = createScratchProject();
  project.write('a.txt', 'one\n');
  project.commit('first');
});
afterEach(() => project.dispose());

/** Commits in the workspace as the agent does, one file each. */
function commit(prepared: PreparedWorkspace, file: string, message: string, ...options: string[]): void {
  const git = (...args: string[]): string => gitIn(prepared.path, project.home, ...args);
  writeFileSync(join(prepared.path, file), 'x');
  git('add', '.');
  git('commit', '-qm', message, ...options);
}

it('commits that name a secret are saved without it, and those after them on top', async () => {
  const prepared = await project.prepare({ sandboxed: false });
  const escaped = [...SECRET].map((char) => `%${char.charCodeAt(0).toString(16)}`).join('');
  commit(prepared, 'b.txt', 'harmless');
  const harmless = gitIn(prepared.path, project.home, 'rev-parse', 'HEAD').trim();
  commit(prepared, 'c.txt', `use ${SECRET}\n\nor ${escaped}`);
  commit(prepared, 'd.txt', 'by a person', `--author=${SECRET} <a@${SECRET}>`);
  commit(prepared, 'e.txt', 'last');
  gitIn(prepared.path, project.home, 'switch', '-qc', `side/${SECRET}`, harmless);
  commit(prepared, 'f.txt', 'merged later');
  gitIn(prepared.path, project.home, 'switch', '-q', 'main');
  gitIn(prepared.path, project.home, 'merge', '-q', '--no-ff', '-m', 'both', `side/${SECRET}`);

  const saved = await project.workspaces.checkpoint(prepared, { clean });
  const prefix = `refs/caisson/${prepared.runId}/heads/1`;
  expect([saved?.warnings, saved?.heads.toSorted()]).toEqual([
    [],
    [`${prefix}/main`, `${prefix}/side/redacted-TOKEN`],
  ]);
  const history = project.git('log', '--topo-order', '--format=%an %ae %B', `${prefix}/main`);
  expect(history).toContain('use [redacted:TOKEN]\n\nor [redacted:TOKEN]');
  expect(history).toContain('[redacted:TOKEN] a@[redacted:TOKEN] by a person');
  expect(
    history.split('\n').filter((line) => / (first|harmless|last|both|merged later)$/.test(line)),
  ).toHaveLength(5);
  expect(project.git('ls-tree', '--name-only', `${prefix}/main`).split('\n')).toEqual(
    'abcdef'.split('').map((name) => `${name}.txt`),
  );
  expect(project.git('merge-base', '--is-ancestor', harmless, `${prefix}/main`)).toBe('');
  expect(project.git('fsck', '--strict')).not.toMatch(/missing|error/);
  expectNowhere();

  // Who tidies up later saves again, and knows no secrets.
  expect((await project.workspaces.checkpoint(prepared))?.heads).toEqual(saved?.heads);
  expectNowhere();
});

/** Not even in an object that nothing refers to. */
function expectNowhere(): void {
  const objects = project.git('cat-file', '--batch-all-objects', '--batch-check=%(objectname) %(objecttype)');
  const commits = objects.split('\n').filter((line) => line.endsWith(' commit'));
  for (const line of commits)
    expect(project.git('cat-file', 'commit', line.split(' ')[0] ?? '')).not.toContain(SECRET);
  expect(project.git('for-each-ref')).not.toContain(SECRET);
  const logs = readdirSync(join(project.root, '.git'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('objects'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
  expect(logs.filter((text) => text.includes(SECRET))).toEqual([]);
}

it('commits without a secret are saved as they are', async () => {
  const prepared = await project.prepare({ sandboxed: false });
  commit(prepared, 'b.txt', 'mine');
  const id = gitIn(prepared.path, project.home, 'rev-parse', 'HEAD').trim();
  const saved = await project.workspaces.checkpoint(prepared, { clean });
  expect(project.git('rev-parse', saved?.heads[0] ?? '')).toBe(id);
});
