import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RUNTIME_DESCRIPTORS } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';
import type { AdmittedRun } from '../admission/contract.ts';
import { linkConversation, openConversation } from './conversation-folder.ts';

function createState(): string {
  const stateDir = mkdtempSync(join(tmpdir(), 'conversation-folder-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  return stateDir;
}

function admitted(runtime: string, runId: string) {
  const descriptor = RUNTIME_DESCRIPTORS[runtime];
  if (descriptor === undefined) throw new Error(runtime);
  return { runId, runtime: { descriptor } as AdmittedRun['runtime'] };
}

/** The conversation `s1` of a run. */
const conversationOf = (runId: string) => ({
  runId,
  resume: { sessionId: 's1' },
  work: { kind: 'none' as const },
});

const rootOf = (stateDir: string, runId: string): string => join(stateDir, 'runtime/sessions', runId);

test('a run has a folder that only we can enter, and one that continues it begins with a copy', async () => {
  const stateDir = createState();
  const first = await openConversation(admitted('codex', 'run_a'), stateDir, null);
  expect(first).toEqual({ folder: join(rootOf(stateDir, 'run_a'), 'own'), resume: undefined });
  expect(statSync(first.folder ?? '').mode & 0o777).toBe(0o700);
  writeFileSync(join(first.folder ?? '', 'said'), 'one');
  mkdirSync(join(rootOf(stateDir, 'run_a'), 'kept/.codex_sessions'), { recursive: true });
  writeFileSync(join(rootOf(stateDir, 'run_a'), 'kept/.codex_sessions/s1'), 'one');
  const resume = { sessionId: 's1' };
  const [left, right] = await Promise.all(
    ['run_b', 'run_c'].map((runId) =>
      openConversation(admitted('codex', runId), stateDir, conversationOf('run_a')),
    ),
  );
  expect([left?.resume, right?.resume]).toEqual([resume, resume]);
  writeFileSync(join(left?.folder ?? '', 'said'), 'one two');
  expect(readFileSync(join(right?.folder ?? '', 'said'), 'utf8')).toBe('one');
  expect(readFileSync(join(first.folder ?? '', 'said'), 'utf8')).toBe('one');
  expect(readFileSync(join(rootOf(stateDir, 'run_c'), 'kept/.codex_sessions/s1'), 'utf8')).toBe('one');
});

test('a second attempt finds the conversation as the first one found it', async () => {
  const stateDir = createState();
  const { folder } = await openConversation(admitted('codex', 'run_a'), stateDir, null);
  writeFileSync(join(folder ?? '', 'said'), 'one');
  const run = admitted('codex', 'run_b');
  const first = await openConversation(run, stateDir, conversationOf('run_a'));
  writeFileSync(join(first.folder ?? '', 'said'), 'one and half of two');
  const second = await openConversation(run, stateDir, conversationOf('run_a'));
  expect(readFileSync(join(second.folder ?? '', 'said'), 'utf8')).toBe('one');
  expect(second.resume).toEqual({ sessionId: 's1' });
});

test('an attempt that goes on with the one before it finds what that one said', async () => {
  const stateDir = createState();
  const run = admitted('codex', 'run_a');
  const first = await openConversation(run, stateDir, null);
  writeFileSync(join(first.folder ?? '', 'said'), 'half');
  const second = await openConversation(run, stateDir, conversationOf('run_a'));
  expect(second).toEqual({ folder: first.folder, resume: { sessionId: 's1' } });
  expect(readFileSync(join(second.folder ?? '', 'said'), 'utf8')).toBe('half');
  const anew = await openConversation(run, stateDir, null);
  expect([anew.resume, existsSync(join(anew.folder ?? '', 'said'))]).toEqual([undefined, false]);
});

test('links that an agent left are copied as links, and pipes are left out', async () => {
  const stateDir = createState();
  const { folder } = await openConversation(admitted('codex', 'run_a'), stateDir, null);
  symlinkSync('/etc', join(folder ?? '', 'etc'));
  execFileSync('mkfifo', [join(folder ?? '', 'pipe')]);
  const run = admitted('codex', 'run_b');
  const copied = await openConversation(run, stateDir, conversationOf('run_a'));
  expect(copied.problem).toBeUndefined();
  expect(readlinkSync(join(copied.folder ?? '', 'etc'))).toBe('/etc');
  expect(existsSync(join(copied.folder ?? '', 'pipe'))).toBe(false);
});

test('a conversation is resumed only when its folder is still there, whichever attempt it is', async () => {
  const stateDir = createState();
  const run = admitted('codex', 'run_b');
  expect((await openConversation(run, stateDir, conversationOf('run_a'))).resume).toBeUndefined();
  expect((await openConversation(run, stateDir, conversationOf('run_a'))).resume).toBeUndefined();
});

test('a runtime that cannot resume has no folder', async () => {
  const stateDir = createState();
  expect(await openConversation(admitted('command', 'run_a'), stateDir, null)).toEqual({
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
  linkConversation(home, null);
  linkConversation(home, folder);
  linkConversation(home, folder);
  writeFileSync(join(folder, 'a'), 'x');
  expect(readFileSync(join(home, '.caisson-session', 'a'), 'utf8')).toBe('x');
});
