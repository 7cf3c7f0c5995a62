import { expect, test } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import { createMemoryLedger, type Ledger, type NewEvent } from '../ledger/index.ts';
import { createEndingMarks, type EndingMarks } from './ending-marks.ts';

const marks = (id = 'state', secret = 'a secret'): EndingMarks =>
  createEndingMarks({ id, secret: Buffer.from(secret) });

const event = (type: string, data: NewEvent['data'] = {}): NewEvent => ({
  runId: 'run_1',
  attempt: 0,
  type,
  version: 1,
  at: '2026-01-01T00:00:00.000Z',
  trace: '',
  data,
});

async function endRun(ledger: Ledger): Promise<{ runId: string; hash: string }> {
  await ledger.append([event('dispatch.accepted', SAMPLE_DATA['dispatch.accepted'])]);
  const [ended] = await ledger.append([event('dispatch.cancelled', SAMPLE_DATA['dispatch.cancelled'])]);
  return { runId: 'run_1', hash: ended?.hash ?? '' };
}

test('an ending is known again by the folder that recorded it, and another one in its place is not', async () => {
  const ledger = createMemoryLedger({ endings: marks().signer });
  const ending = await endRun(ledger);
  expect(marks().judge(ledger, ending)).toBe('ours');
  expect(marks().judge(ledger, { ...ending, hash: 'f'.repeat(64) })).toBe('forged');
  expect(marks('state', 'another').judge(ledger, ending)).toBe('forged');
  ledger.kv.set('endings', 'run_1', { x: 1 });
  expect(marks().judge(ledger, ending)).toBe('forged');
});

test('what another folder marked, or an older version left, says nothing', async () => {
  const ledger = createMemoryLedger({ endings: marks('other').signer });
  expect(marks().judge(ledger, await endRun(ledger))).toBe('unmarked');
  const older = createMemoryLedger();
  expect(marks().judge(older, await endRun(older))).toBe('unmarked');
});

test('an ending whose mark cannot be made is not recorded', async () => {
  const ledger = createMemoryLedger({
    endings: {
      state: 'state',
      get secret(): Uint8Array {
        throw new Error('no secret');
      },
    },
  });
  await expect(endRun(ledger)).rejects.toThrow('no secret');
  expect(ledger.read({ runId: 'run_1' }).map(({ type }) => type)).toEqual(['dispatch.accepted']);
});
