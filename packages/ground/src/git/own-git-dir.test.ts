import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createOwnGitDir } from './own-git-dir.ts';

it('has a HEAD only once everything else is there, and is completed where it was cut off', async () => {
  const path = mkdtempSync(join(tmpdir(), 'caisson-git-dir-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  mkdirSync(join(path, 'config'));
  await expect(createOwnGitDir({ path, objectFormat: 'sha1' })).rejects.toThrow('EISDIR');
  expect(existsSync(join(path, 'HEAD'))).toBe(false);
  rmSync(join(path, 'config'), { recursive: true });
  await createOwnGitDir({ path, objectFormat: 'sha1' });
  expect(existsSync(join(path, 'HEAD'))).toBe(true);
});
