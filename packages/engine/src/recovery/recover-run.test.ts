import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeNdjson, WORKER_SCHEMA, type ObservedUsage } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';
import { createBareRemote } from '../../../../tests/e2e/bare-remote.ts';
import { openRooms, prepareRun, type PreparedRun } from '../admission/fixtures/open-rooms.ts';
import type { DispatchRequest, DispatchRooms } from '../admission/index.ts';
import { LedgerFullError, type RunRow } from '../ledger/index.ts';
import { recoverRun } from './recover-run.ts';

const at = '2026-01-01T00:00:00.000Z';
const row = { runId: 'run_a', attempt: 0, status: 'queued', acceptedAt: at } as RunRow;
const accepted = { type: 'dispatch.accepted', runId: 'run_a', attempt: 0, at, trace: 't', data: {} };
const unreadable = { ...accepted, type: 'unknown', recordedType: 'attempt.launched', attempt: 1 };

/** Rooms over a disk that is full until both parts of the reserve are free. */
function createFullRooms(events: readonly unknown[]) {
  const stateDir = mkdtempSync(join(tmpdir(), 'recover-run-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const recorded: unknown[] = [];
  let parts = 2;
  const write = async (written: readonly { type: string }[]): Promise<void> => {
    if (parts > 0) throw new LedgerFullError('ledger.db');
    recorded.push(...written.map(({ type }) => type));
  };
  const record = {
    flush: () => write([]),
    append: (type: string) => write([{ type }]),
    appendLast: write,
  };
  const read = ({ types }: { types?: string[] }) =>
    types === undefined ? events : (events as { type: string }[]).filter(({ type }) => types.includes(type));
  const rooms = {
    ledger: { read, readRun: () => Promise.resolve(events), run: () => row },
    recorder: { of: () => record },
    settings: { projectRoot: stateDir, stateDir },
    workspaces: { removeLocks: async () => undefined, recoverList: async () => [] },
    compute: { sweep: async () => undefined },
    clock: { wallMs: () => Date.parse(at) + 5 },
    budget: { settle: () => undefined },
    seal: async () => undefined,
    freeReserve: () => parts > 0 && (parts -= 1) >= 0,
  };
  return { rooms: rooms as unknown as DispatchRooms, recorded };
}

test.each([
  ['had no worker', [accepted]],
  ['cannot be settled in order', [accepted, unreadable]],
])('a run that %s is ended in the space of the reserve', async (_name, events) => {
  const { rooms, recorded } = createFullRooms(events);
  await recoverRun(rooms, { row, why: 'its host died' }, () => false);
  expect(recorded).toEqual(['dispatch.failed']);
});

async function recoverLeft(rooms: DispatchRooms, runId: string): Promise<unknown> {
  const row = rooms.ledger.run(runId);
  if (row === null) throw new Error('there is no such run');
  await recoverRun(rooms, { row, why: 'the host died' }, () => false);
  const events = rooms.ledger.read({ runId });
  expect(events.map(({ type }) => type)).toContain('evidence.sealed');
  return events.find((event) => event.type === 'dispatch.failed')?.data;
}

test('a run whose host died while it prepared is lost, sealed, and leaves no workspace', async () => {
  const { rooms } = await openRooms();
  const { run, prepared } = await prepareRun(rooms, { argv: ['true'] });
  expect(await recoverLeft(rooms, run.runId)).toMatchObject({
    failure: { reason: 'lost', detail: 'the host died before the run had a worker' },
  });
  const { workspace, paths } = prepared;
  expect([workspace.path, paths.job, paths.captures].filter(existsSync)).toEqual([]);
});

test('of a run on a remote whose host died while it prepared, our copy keeps nothing', async () => {
  const remote = createBareRemote();
  const { rooms } = await openRooms();
  const { run, prepared } = await prepareRun(rooms, { argv: ['true'], repo: remote.path });
  const { custodyDir } = prepared.workspace;
  const listRefs = (): string => execFileSync('git', [`--git-dir=${custodyDir}`, 'for-each-ref']).toString();
  expect(listRefs()).toContain(run.runId);
  await recoverLeft(rooms, run.runId);
  expect(listRefs()).toBe('');
});

test('a run whose launch cannot be read is lost with the reason, and its workspace stays', async () => {
  const { rooms } = await openRooms();
  const { run, record, prepared } = await prepareRun(rooms, { argv: ['true'] });
  const workspace = { ...prepared.workspace };
  const launched = { handle: { kind: 'remote' }, nonce: prepared.nonce, workspace };
  await record.append('attempt.launched', launched, { attempt: 1 });
  expect(await recoverLeft(rooms, run.runId)).toMatchObject({
    failure: { reason: 'lost' },
    patchMissing: expect.stringContaining('what it left could not be settled') as string,
  });
  expect(existsSync(workspace.path)).toBe(true);
  await prepared.discard();
});

/** A run whose host died just after the start; `isEarlier`: one of a version that recorded no rules. */
async function startRun(
  rooms: DispatchRooms,
  request: DispatchRequest,
  { isEarlier = false } = {},
): Promise<PreparedRun> {
  const started = await prepareRun(rooms, request);
  const { run, record, prepared } = started;
  const { runId } = run;
  const cgroup = { name: `${runId}.1`, procsFiles: [] };
  const handle = { kind: 'local', runId, attempt: 1, pid: 2 ** 22 + 1, startTime: '1', cgroup };
  const { judging, ...earlier } = prepared.workspace;
  const workspace = isEarlier ? earlier : { ...earlier, judging };
  const launched = { handle, nonce: prepared.nonce, workspace };
  await record.append('attempt.launched', launched, { attempt: 1 });
  await record.append('dispatch.started', { grant: run.grant }, { attempt: 1 });
  return started;
}

test.each([
  [
    'an empty folder',
    { workspace: 'empty' },
    ['record.json', 'git/HEAD', 'git/config', 'git/info/attributes'],
  ],
  ['a worktree', {}, ['record.json']],
] as const)(
  'the work in %s is saved although the power cut took what is recorded anyway',
  async (_name, how, torn) => {
    const { rooms } = await openRooms();
    const { run, prepared } = await startRun(rooms, { argv: ['true'], ...how });
    const { path, attemptDir } = prepared.workspace;
    writeFileSync(join(path, 'new.txt'), 'work\n');
    for (const name of torn) writeFileSync(join(attemptDir, name), '');
    const ended = await recoverLeft(rooms, run.runId);
    expect(ended).toMatchObject({ checkpoint: {}, patchRef: expect.any(String) as string });
    expect(rooms.ledger.read({ runId: run.runId, types: ['warning'] })).toEqual([]);
    expect(existsSync(attemptDir)).toBe(false);
  },
);

test('a record that the power cut took is there again for a later clean-up', async () => {
  const { rooms } = await openRooms();
  const { run, prepared } = await startRun(rooms, { argv: ['true'], workspace: 'empty' });
  const { path, attemptDir } = prepared.workspace;
  writeFileSync(join(path, 'new.txt'), 'work\n');
  writeFileSync(join(attemptDir, 'record.json'), '');
  const living = spawn('sleep', ['600'], { cwd: path });
  await once(living, 'spawn');
  await recoverLeft(rooms, run.runId);
  living.kill();
  const left = await rooms.workspaces.recoverList(rooms.settings);
  expect(left.map(({ prepared: found }) => found)).toEqual([prepared.workspace]);
});

test.each([
  ['are judged by those of now', true, { patchRef: expect.any(String) as string }],
  [
    'are in no patch while those of now cannot be read',
    false,
    { patchMissing: expect.any(String) as string },
  ],
])('changes of a run whose rules an earlier version did not record %s', async (_name, hasAllRules, saved) => {
  const { rooms } = await openRooms();
  const { run, prepared } = await startRun(rooms, { argv: ['true'] }, { isEarlier: true });
  writeFileSync(join(prepared.workspace.path, 'new.txt'), 'work\n');
  const settings = { ...rooms.settings, hasAllRules };
  const ended = await recoverLeft({ ...rooms, settings }, run.runId);
  expect(ended).toMatchObject({ checkpoint: {}, ...saved });
  expect(Object.keys(ended as object).filter((key) => key.startsWith('patch'))).toEqual(Object.keys(saved));
});

const TOKENS = { inputTokens: 1_000_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
const SEEN: ObservedUsage = {
  ...{ answers: 1, underWay: 0, isWhole: true, refusals: 0, lastStop: null, lastFailure: null },
  ...{ hasAnswered: true, failedInRow: 0, unreachedMs: 0, toolCalls: 2, openTool: null, modelMs: 900 },
  estimated: { answers: 0, inputTokens: 0, outputTokens: 0 },
  byModel: [{ model: 'gpt-5', ...TOKENS }],
  pending: [],
};
const CALL = {
  ...{ model: 'gpt-5', durationMs: 900, outcome: 'answered' },
  tokens: { input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0 },
};
const CONNECTION = {
  ...{ via: 'broker', target: 'api.example', verdict: 'allowed', bytesUp: 1, bytesDown: 2, durationMs: 900 },
};

test('a run whose host died is charged with the last usage that its worker wrote, and has its calls', async () => {
  const { rooms } = await openRooms();
  const { run, prepared } = await startRun(rooms, { argv: ['true'] });
  const { runId } = run;
  const lines = [
    { kind: 'model.usage', usage: { ...SEEN, answers: 0, underWay: 1, byModel: [] } },
    { kind: 'model.called', ...CALL },
    { kind: 'model.usage', usage: SEEN },
    { kind: 'network.connection', ...CONNECTION },
  ].map((line, index) => ({ ...line, seq: index + 1, at }));
  const header = { schema: WORKER_SCHEMA, runId, attempt: 1, grant: run.grant };
  writeFileSync(prepared.paths.events, [header, ...lines].map(encodeNdjson).join(''));
  expect(await recoverLeft(rooms, runId)).toMatchObject({
    failure: { reason: 'lost' },
    usage: { models: ['gpt-5'], ...TOKENS, costUsd: 1.25, turns: 1, toolCalls: 2, durationMs: 900 },
  });
  const types = ['model.called', 'network.connection'] as const;
  expect(rooms.ledger.read({ runId, types }).map(({ type, id, data }) => ({ type, id, data }))).toEqual([
    { type: 'model.called', id: `line:${runId}.1.2`, data: { ...CALL, costUsd: 1.25 } },
    { type: 'network.connection', id: `line:${runId}.1.4`, data: CONNECTION },
  ]);
});
