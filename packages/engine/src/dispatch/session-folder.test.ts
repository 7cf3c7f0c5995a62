import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RUNTIME_DESCRIPTORS } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';
import type { AdmittedRun } from './contract.ts';
import { linkSession, openAgentSession } from './session-folder.ts';

function createState(): string {
  const stateDir = mkdtempSync(join(tmpdir(), 'session-folder-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  return stateDir;
}

function admitted(runtime: string, runId: string, request: AdmittedRun['request'] = {}) {
  const descriptor = RUNTIME_DESCRIPTORS[runtime];
  if (descriptor === undefined) throw new Error(runtime);
  return { runId, request, runtime: { descriptor } as AdmittedRun['runtime'] };
}

test('a run and all that continue it share one folder, which only we can enter', () => {
  const stateDir = createState();
  const chain: Record<string, { continues?: string }> = { run_b: { continues: 'run_a' }, run_a: {} };
  const find = (runId: string) => chain[runId] ?? null;
  const first = openAgentSession(admitted('codex', 'run_a'), { stateDir, find });
  const third = openAgentSession(admitted('codex', 'run_c', { continues: 'run_b' }), { stateDir, find });
  expect(first.folder).toBe(join(stateDir, 'runtime/sessions/run_a/own'));
  expect(third.folder).toBe(first.folder);
  expect(statSync(first.folder ?? '').mode & 0o777).toBe(0o700);
});

test('a session is resumed only when its folder is still there', () => {
  const stateDir = createState();
  const resume = { sessionId: 's1' };
  const run = admitted('codex', 'run_b', { continues: 'run_a', resume });
  const options = { stateDir, find: () => ({}) };
  expect(openAgentSession(run, options).resume).toBeUndefined();
  expect(openAgentSession(run, options).resume).toEqual(resume);
});

test('a runtime that cannot resume has no folder', () => {
  const stateDir = createState();
  expect(openAgentSession(admitted('command', 'run_a'), { stateDir, find: () => null })).toEqual({
    folder: null,
    resume: undefined,
  });
  expect(existsSync(join(stateDir, 'runtime'))).toBe(false);
});

test('without a sandbox the folder is linked into the private HOME, once', () => {
  const stateDir = createState();
  const home = join(stateDir, 'home');
  const folder = join(stateDir, 'kept');
  mkdirSync(home);
  mkdirSync(folder);
  linkSession(home, null);
  linkSession(home, folder);
  linkSession(home, folder);
  writeFileSync(join(folder, 'a'), 'x');
  expect(readFileSync(join(home, '.caisson-session', 'a'), 'utf8')).toBe('x');
});
