import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRooms, prepareRun } from '../admission/fixtures/open-rooms.ts';
import { settle, type SettleInput } from './settle.ts';

test('work of an attempt without a result is in a checkpoint before its workspace goes, and settling again adds nothing', async () => {
  const { rooms, project } = await openRooms();
  const { run, record, prepared } = await prepareRun(rooms, { argv: ['true'] });
  const { attempt, nonce, paths, workspace, limits } = prepared;
  const { runId } = run;
  const launched = { handle: {}, nonce, workspace: { ...workspace } };
  await record.append('attempt.launched', launched, { attempt });
  writeFileSync(join(workspace.path, 'made.txt'), 'made\n');
  const input: SettleInput = {
    remains: { runId, attempt, paths, workspace, isForBranch: false, release: async () => limits.release() },
    ending: { kind: 'failed', failure: { reason: 'crashed', detail: 'it broke' } },
    found: { kind: 'absent' },
    durationMs: 5,
    countUsage: () => undefined,
    mayPass: () => false,
  };
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
