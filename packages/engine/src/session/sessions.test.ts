import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createManualClock } from '@caisson/ground';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSessions } from './create-sessions.ts';
import { SessionNameError } from './errors.ts';

let stateDir = '';
let resets: string[] = [];
const open = () =>
  createSessions({ stateDir, clock: createManualClock(0), onReset: (name) => void resets.push(name) });

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'sessions-'));
  resets = [];
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

test('each session has a board and a registry of its own', async () => {
  const sessions = open();
  await sessions.board('a').write({ key: 'k', value: 1, by: { runId: null } });
  await sessions.context('b').report({ key: 'k', value: 2, source: { runId: null } });
  expect(await sessions.list()).toMatchObject([
    { name: 'a', boardKeys: 1, findings: 0 },
    { name: 'b', boardKeys: 0, findings: 1 },
  ]);
});

test('a worker is given paths in a folder that exists', () => {
  const { board, context } = open().paths('a');
  expect([board, context]).toEqual([
    join(stateDir, 'sessions/a/board.json'),
    join(stateDir, 'sessions/a/context.json'),
  ]);
  expect(readdirSync(join(stateDir, 'sessions'))).toEqual(['a']);
});

test('a reset empties the session and says so once', async () => {
  const sessions = open();
  await sessions.board('a').write({ key: 'k', value: 1, by: { runId: null } });
  expect(await sessions.reset('a')).toBe(true);
  expect(await sessions.reset('a')).toBe(false);
  expect(await sessions.board('a').read()).toEqual([]);
  expect(resets).toEqual(['a']);
});

test.each(['', '..', '.', 'a/b', '-a', 'a b', 'x'.repeat(65)])('%j is no name', (name) => {
  expect(() => open().paths(name)).toThrow(SessionNameError);
});
