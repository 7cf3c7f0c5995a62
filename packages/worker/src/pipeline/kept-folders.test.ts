import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Job } from '@caisson/protocol';
import { openKeptFolders } from './kept-folders.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kept-'));
  mkdirSync(join(folder, 'session', 'own'), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const jobWith = (session: string | null): Job =>
  ({
    paths: { session },
    sandbox: { home: '/home/agent' },
    grant: { sandbox: 'bwrap' },
  }) as unknown as Job;

test('what an agent writes into its session cannot change what the next attempt mounts', () => {
  const session = join(folder, 'session', 'own');
  for (const name of ['.claude_projects', 'kept']) symlinkSync('/etc', join(session, name));

  const binds = openKeptFolders(jobWith(session), ['/home/agent/.claude/projects']);

  const source = join(folder, 'session', 'kept', '.claude_projects');
  expect(binds).toEqual([{ source, target: '/home/agent/.claude/projects', writable: true }]);
  expect(existsSync(source)).toBe(true);
});

test('nothing is kept for a runtime that cannot resume', () => {
  expect(openKeptFolders(jobWith(null), ['/home/agent/.claude/projects'])).toEqual([]);
});
