import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openRooms, prepareRun } from '../admission/fixtures/open-rooms.ts';
import type { DispatchRooms } from '../admission/index.ts';
import type { RunRecord } from '../ledger/index.ts';
import { settle, type SettleInput } from './settle.ts';

/** An attempt that crashed and left a file. */
async function leaveAttempt(rooms: DispatchRooms): Promise<{ record: RunRecord; input: SettleInput }> {
  const { run, record, prepared } = await prepareRun(rooms, { argv: ['true'] });
  const { attempt, nonce, paths, workspace, limits } = prepared;
  const { runId } = run;
  const launched = { handle: {}, nonce, workspace: { ...workspace } };
  await record.append('attempt.launched', launched, { attempt });
  writeFileSync(join(workspace.path, 'made.txt'), 'made\n');
  const release = (): Promise<void> => limits.release();
  const input: SettleInput = {
    remains: { runId, attempt, paths, workspace, isForBranch: false, release },
    ending: { kind: 'failed', failure: { reason: 'crashed', detail: 'it broke' } },
    found: { kind: 'absent' },
    durationMs: 5,
    countUsage: () => undefined,
    mayPass: () => false,
  };
  return { record, input };
}

test('work of an attempt without a result is in a checkpoint before its workspace goes, and settling again adds nothing', async () => {
  const { rooms, project } = await openRooms();
  const { record, input } = await leaveAttempt(rooms);
  const { runId, workspace, paths } = input.remains;
  expect(await settle(rooms, record, input, { attemptsLeft: 0, delayMs: 0 })).toEqual({ kind: 'ended' });
  const ending = rooms.ledger.read({ runId }).find((event) => event.type === 'dispatch.failed');
  expect(ending?.data).toMatchObject({ durationMs: 5, failure: { reason: 'crashed', detail: 'it broke' } });
  expect(project.git('show', `${ending?.data.checkpoint?.commit}:made.txt`)).toBe('made\n');
  expect([workspace.path, paths.job].filter(existsSync)).toEqual([]);

  await settle(rooms, record, input, { attemptsLeft: 0, delayMs: 0 });
  const types = rooms.ledger.read({ runId }).map(({ type }) => type);
  for (const once of ['dispatch.failed', 'evidence.sealed'])
    expect(types.filter((type) => type === once)).toHaveLength(1);
});

test('the seal waits for no clean-up, and the clean-up for no seal', async () => {
  const { rooms } = await openRooms();
  const { record, input } = await leaveAttempt(rooms);
  const { workspace, paths } = input.remains;
  const [removed, sealing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const workspaces: typeof rooms.workspaces = {
    ...rooms.workspaces,
    async remove(...given) {
      await sealing.promise;
      const result = await rooms.workspaces.remove(...given);
      removed.resolve();
      return result;
    },
  };
  const seal: typeof rooms.seal = async (...given) => {
    sealing.resolve();
    await removed.promise;
    await rooms.seal(...given);
  };
  await settle({ ...rooms, workspaces, seal }, record, input, { attemptsLeft: 0, delayMs: 0 });
  expect([workspace.path, paths.job].filter(existsSync)).toEqual([]);
  const types = rooms.ledger.read({ runId: input.remains.runId }).map(({ type }) => type);
  expect(types).toContain('evidence.sealed');
}, 20_000);

test.each([
  ['beside the checkpoint, where the end of the last process was seen', true],
  ['before the checkpoint, where something may be left', false],
])('the limits of an attempt are released %s, and before the ending', async (_title, isProvenGone) => {
  const { rooms } = await openRooms();
  const { record, input } = await leaveAttempt(rooms);
  const steps: string[] = [];
  const saving = Promise.withResolvers<void>();
  const release = async (): Promise<void> => {
    if (isProvenGone) await saving.promise;
    steps.push('released');
    await input.remains.release();
  };
  const workspaces: typeof rooms.workspaces = {
    ...rooms.workspaces,
    checkpoint(...given) {
      steps.push('saving');
      saving.resolve();
      return rooms.workspaces.checkpoint(...given);
    },
  };
  const remains = { ...input.remains, release, isProvenGone };
  const appendLast = record.appendLast.bind(record);
  record.appendLast = (...given) => (steps.push('ending'), appendLast(...given));
  await settle({ ...rooms, workspaces }, record, { ...input, remains }, { attemptsLeft: 0, delayMs: 0 });
  expect(steps).toEqual(isProvenGone ? ['saving', 'released', 'ending'] : ['released', 'saving', 'ending']);
});

test('limits that cannot be released beside the checkpoint fail the settling, and nothing else, also while an approval is closed', async () => {
  const { rooms } = await openRooms();
  const { record, input } = await leaveAttempt(rooms);
  const asked = { approvalId: 'approval_a', requestId: 'r1', tool: 'shell', what: 'rm x' };
  const { runId, attempt } = input.remains;
  const deadlineAt = '2030-01-01T00:00:00.000Z';
  await record.append('approval.requested', { ...asked, actionClass: 'shell', deadlineAt }, { attempt });
  const floating: unknown[] = [];
  const note = (error: unknown): void => void floating.push(error);
  process.prependListener('unhandledRejection', note);
  onTestFinished(() => void process.removeListener('unhandledRejection', note));
  const release = (): Promise<void> => Promise.reject(new Error('the disk is full'));
  const remains = { ...input.remains, release, isProvenGone: true };
  const failing = settle(
    rooms,
    record,
    { ...input, remains, mayPass: () => true },
    { attemptsLeft: 0, delayMs: 0 },
  );
  await expect(failing).rejects.toThrow('the disk is full');
  const closed = rooms.ledger.approvals({ runId }).map(({ status }) => status);
  expect([floating, closed]).toEqual([[], ['denied']]);
});
