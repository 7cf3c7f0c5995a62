import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { listProjectSecrets, listSecretPlaces } from './project-secrets.ts';

/** A project below a folder that may have a `.git`, too. */
function openProject() {
  const outer = realpathSync(mkdtempSync(join(tmpdir(), 'project-secrets-')));
  onTestFinished(() => rmSync(outer, { recursive: true }));
  const root = join(outer, 'a/project');
  mkdirSync(root, { recursive: true });
  return { outer, root };
}

function writeRepository(folder: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'HEAD'), '');
  writeFileSync(join(folder, 'config'), 'https://me:password@host');
  return join(folder, 'config');
}

test('the settings of the repository around the project are secrets, also below another repository', () => {
  const { outer, root } = openProject();
  const configs = [writeRepository(join(root, '.git')), writeRepository(join(outer, '.git'))];
  configs.push(writeRepository(join(outer, '.git/modules/deep/sub')));
  expect(listProjectSecrets(root)).toEqual(configs);
});

test('links that lead to themselves are like nothing', () => {
  const { outer, root } = openProject();
  symlinkSync('.git', join(outer, '.git'));
  mkdirSync(join(root, '.git'));
  symlinkSync('modules', join(root, '.git/modules'));
  symlinkSync('.env', join(root, '.env'));
  expect(listProjectSecrets(root)).toEqual([]);
  expect(listSecretPlaces(root).places.map(({ folder }) => folder)).toEqual([root, join(root, '.git')]);
});

test('a .git above the project that belongs to another user does not count', () => {
  const { outer, root } = openProject();
  chmodSync(outer, 0o1777);
  writeRepository(join(outer, '.git'));
  // Only root can give a folder away; for others the system's own folders do.
  if (process.geteuid?.() === 0) chownSync(join(outer, '.git'), 65_534, 65_534);
  else {
    rmSync(join(outer, '.git'), { recursive: true });
    symlinkSync('/etc', join(outer, '.git'));
  }
  expect(listSecretPlaces(root).places.map(({ folder }) => folder)).toEqual([root]);
});

test('the folder of too many submodules is hidden as a whole, and nothing in it is watched', () => {
  const { root } = openProject();
  const modules = join(root, '.git/modules');
  for (let n = 0; n < 300; n += 1) writeRepository(join(modules, `m${n}`));
  expect(listProjectSecrets(root)).toEqual([modules]);
  const { places, hiddenWhole } = listSecretPlaces(root);
  expect(places.map(({ folder }) => folder)).toEqual([root, join(root, '.git')]);
  expect(hiddenWhole).toEqual([modules]);
});
