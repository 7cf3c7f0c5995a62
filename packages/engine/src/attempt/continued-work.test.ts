import { expect, test } from 'vitest';
import type { AdmittedRun, DispatchRooms } from '../admission/index.ts';
import type { EarlierWork } from '../workspace/index.ts';
import {
  findContinuedWork,
  findConversationOfRun,
  findEarlierConversation,
  findStart,
} from './continued-work.ts';
import { isWorkLost } from './notes.ts';

const S1 = { sessionId: 's1' };
const S2 = { sessionId: 's2' };

interface Recorded {
  readonly type: string;
  readonly attempt: number;
  readonly data: Record<string, unknown>;
}
const ended = (attempt: number, data = {}): Recorded => ({ type: 'attempt.ended', attempt, data });
const failed = (attempt: number, data = {}): Recorded => ({ type: 'dispatch.failed', attempt, data });

function roomsWith(...events: Recorded[]) {
  const ledger = {
    read: ({ types }: { types: string[] }) => events.filter(({ type }) => types.includes(type)),
    run: () => ({ runtime: 'pi', ending: events.find(({ type }) => type.startsWith('dispatch.'))?.type }),
  };
  const store = { getBlob: async (ref: string) => Buffer.from(ref) };
  return { ledger, store } as unknown as DispatchRooms;
}

const admitted = (request = {}) =>
  ({ runId: 'run_b', request, runtime: { name: 'pi' } }) as unknown as AdmittedRun;

const workspace = (baselineTree: string) => ({
  ...{ schemaVersion: 1, kind: 'worktree', runId: 'run_b', attempt: 1, path: '/a/f', mountPath: '/p' },
  ...{ cwd: '/p', projectRoot: '/p', attemptDir: '/a', gitDir: '/g', custodyDir: '/c' },
  ...{ isUserRepository: true, baseCommit: null, baselineCommit: null, baselineTree },
  ...{ exclude: [], warnings: [] },
});

test('an attempt whose own patch is missing begins with the work that the run keeps', async () => {
  const launched = { type: 'attempt.launched', attempt: 1, data: { workspace: workspace('1'.repeat(40)) } };
  const own = ended(1, { resume: S1, patchMissing: 'why' });
  const rooms = roomsWith(launched, own, failed(1, { patchRef: 'kept' }));
  const run = { ...admitted({ keepWork: 'run_a' }), workspaceKind: 'worktree' } as AdmittedRun;
  const conversation = findEarlierConversation(rooms, run, 2);
  expect(conversation).toMatchObject({ runId: 'run_b', work: { kind: 'missing' } });
  expect((await findStart(rooms, run, conversation)).merge?.result).toEqual({ patch: Buffer.from('kept') });
});

test('a third attempt goes on with the conversation and the work of the first, which the second left no word of', async () => {
  const launches = [1, 2].map((attempt) => ({
    ...{ type: 'attempt.launched', attempt, data: { workspace: workspace(`${attempt}`.repeat(40)) } },
  }));
  const rooms = roomsWith(...launches, ended(1, { resume: S1, patchRef: 'p1' }), ended(2));
  const conversation = findEarlierConversation(rooms, admitted(), 3);
  expect(conversation).toEqual({
    ...{ runId: 'run_b', resume: S1, work: { kind: 'patch', patchRef: 'p1', attempt: 1 } },
  });
  expect(await findContinuedWork(rooms, { workspaceKind: 'worktree' }, conversation)).toMatchObject({
    baselineTree: '1'.repeat(40),
    patch: Buffer.from('p1'),
  });
});

test('the newest patch since the conversation counts, and none from before it', () => {
  const work = (...events: Recorded[]) => findEarlierConversation(roomsWith(...events), admitted(), 3)?.work;
  expect(work(ended(1, { resume: S1, patchRef: 'p1' }), ended(2, { patchRef: 'p2' }))).toEqual({
    ...{ kind: 'patch', patchRef: 'p2', attempt: 2 },
  });
  expect(work(ended(1, { patchRef: 'p1' }), ended(2, { resume: S2 }))).toEqual({ kind: 'none' });
});

test('a run does not begin with work that the conversation it continues knows nothing of', () => {
  const request = { continues: 'run_a', resume: S2 };
  const work = (...events: Recorded[]) =>
    findEarlierConversation(roomsWith(...events), admitted(request), 1)?.work;
  expect(work(ended(1, { patchRef: 'p1' }), failed(2, { patchRef: 'p1' }))).toEqual({ kind: 'none' });
  expect(work(ended(1, { resume: S2, patchRef: 'p1' }), failed(2, { patchRef: 'p1' }))).toEqual({
    ...{ kind: 'patch', patchRef: 'p1', attempt: 1 },
  });
  expect(work(failed(1, { patchRef: 'p1' }))).toEqual({ kind: 'patch', patchRef: 'p1', attempt: 1 });
});

test('the prompt says that the work of a conversation is lost, also when there never was a patch of it', () => {
  const conversation = findEarlierConversation(
    roomsWith(ended(1, { resume: S1, patchMissing: 'why' })),
    admitted(),
    2,
  );
  expect(isWorkLost(conversation, {}, { kind: 'worktree' })).toBe(true);
  expect(isWorkLost(conversation, {}, { kind: 'in-place' })).toBe(false);
  const idle = findEarlierConversation(roomsWith(ended(1, { resume: S1 })), admitted(), 2);
  expect(isWorkLost(idle, {}, { kind: 'worktree' })).toBe(false);
  expect(isWorkLost(idle, { work: {} as EarlierWork }, { kind: 'worktree' })).toBe(true);
  expect(isWorkLost(idle, { work: {} as EarlierWork }, { kind: 'worktree', startTree: 't' })).toBe(false);
});

test('the conversation of a run is that of its result, or else of the newest attempt that had one', () => {
  const usage = (outputTokens: number) => ({
    ...{ models: [], inputTokens: 1, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 },
  });
  const rooms = roomsWith(ended(1, { resume: S1 }), ended(2));
  expect(findConversationOfRun(rooms, 'run_a', { resume: S2, usage: usage(1) })).toEqual(S2);
  expect(findConversationOfRun(rooms, 'run_a', { resume: S2, usage: usage(0) })).toEqual(S1);
  expect(findConversationOfRun(rooms, 'run_a', null)).toEqual(S1);
  expect(findConversationOfRun(roomsWith(), 'run_a', { resume: S2, usage: usage(0) })).toBeUndefined();
});
