import { systemClock } from '@caisson/ground';
import { expect, test } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import {
  createMemoryLedger,
  createRecorder,
  LedgerBusyError,
  type PublishedEvent,
  type Ledger,
  type RunRecord,
} from './index.ts';

const RUN = 'run_00000000000000000001';
const ran = (exitCode: number) => ({ exitCode, durationMs: 1 });

/** A record whose ledger can be locked, as another process would lock it. */
async function openRecord() {
  const ledger = createMemoryLedger();
  let isLocked = false;
  const append: Ledger['append'] = (events, options) =>
    isLocked ? Promise.reject(new LedgerBusyError(ledger.file)) : ledger.append(events, options);
  const recorder = createRecorder({ ledger: { append }, clock: systemClock });
  const received: PublishedEvent[] = [];
  recorder.listen((event) => received.push(event));
  const record = recorder.of(RUN, 'trace');
  await record.append('dispatch.accepted', SAMPLE_DATA['dispatch.accepted'], { attempt: 0 });
  const exits = (): unknown[] =>
    ledger.read({ runId: RUN, types: ['runtime.adapter.ran'] }).map(({ data }) => data.exitCode);
  const lock = (value: boolean): void => void (isLocked = value);
  return { ledger, recorder, record, received, exits, lock };
}

/** Every write that was begun has been answered. */
async function answered(record: RunRecord): Promise<void> {
  await record.flush().catch(() => undefined);
}

test('a durable event is published after it is on disk, even if a listener fails', async () => {
  const { ledger, recorder, record } = await openRecord();
  const received: PublishedEvent[] = [];
  recorder.listen(() => {
    throw new Error('a listener that is broken');
  });
  recorder.listen((event) => received.push(event));
  await record.append('run.queued', { position: 1, limit: 1 }, { attempt: 0 });
  record.publish('worker.progress', { phase: 'agent' }, 1);
  expect(received.map(({ type, seq }) => [type, seq])).toEqual([
    ['run.queued', 2],
    ['worker.progress', 0],
  ]);
  expect(ledger.read().map(({ type }) => type)).toEqual(['dispatch.accepted', 'run.queued']);
});

test('events that are kept while the ledger is locked are written later, in their order', async () => {
  const { record, received, exits, lock } = await openRecord();
  lock(true);
  for (const exit of [1, 2]) record.keep('runtime.adapter.ran', ran(exit), { attempt: 1 });
  await expect(record.flush()).rejects.toThrow(LedgerBusyError);
  record.keep('runtime.adapter.ran', ran(3), { attempt: 1 });
  await answered(record);
  expect(exits()).toEqual([]);
  lock(false);
  record.keep('runtime.adapter.ran', ran(4), { attempt: 1 });
  await record.flush();
  expect(exits()).toEqual([1, 2, 3, 4]);
  expect(received.slice(1).map(({ data }) => data)).toEqual([1, 2, 3, 4].map(ran));
});

test('what the ledger refuses for good is recorded as a loss, and takes nothing with it', async () => {
  const { ledger, record, exits, lock } = await openRecord();
  const tooLarge = { ...ran(2), signal: 'x'.repeat(5 * 1024 * 1024) };
  record.keep('runtime.adapter.ran', tooLarge, { attempt: 1 });
  lock(true);
  record.keep('runtime.adapter.ran', ran(3), { attempt: 1 });
  record.keep('script.ran', { lens: tooLarge.signal, ...ran(2) }, { attempt: 1 });
  record.keep('runtime.adapter.ran', ran(4), { attempt: 1 });
  await answered(record);
  lock(false);
  await record.flush();
  await record.flush();
  expect(exits()).toEqual([3, 4]);
  expect(ledger.read({ types: ['events.lost'] }).map(({ data }) => data)).toEqual([
    { count: 2, types: { 'runtime.adapter.ran': 1, 'script.ran': 1 } },
  ]);
});

test('an event with an id is recorded and published once', async () => {
  const { record, received, exits } = await openRecord();
  for (const _ of [1, 2]) record.keep('runtime.adapter.ran', ran(0), { attempt: 1, id: 'line:1' });
  await record.flush();
  await record.append('runtime.adapter.ran', ran(0), { attempt: 1, id: 'line:1' });
  expect(exits()).toEqual([0]);
  expect(received.slice(1).map(({ data }) => data)).toEqual([ran(0)]);
});

test('an event that is appended waits for those that were kept before it, and overtakes none', async () => {
  const { ledger, record, lock } = await openRecord();
  lock(true);
  record.keep('runtime.adapter.ran', ran(1), { attempt: 1 });
  await expect(record.append('run.queued', { position: 1, limit: 1 }, { attempt: 0 })).rejects.toThrow(
    LedgerBusyError,
  );
  lock(false);
  const appended = record.append('run.queued', { position: 2, limit: 1 }, { attempt: 0 });
  record.keep('runtime.adapter.ran', ran(2), { attempt: 1 });
  await appended;
  await record.flush();
  expect(ledger.read({ runId: RUN, after: 1 }).map(({ data }) => data)).toEqual([
    ran(1),
    { position: 2, limit: 1 },
    ran(2),
  ]);
});

test('a loss that happens while losses are recorded is recorded, too', async () => {
  const { ledger, record } = await openRecord();
  const tooLarge = { ...ran(2), signal: 'x'.repeat(5 * 1024 * 1024) };
  record.keep('runtime.adapter.ran', tooLarge, { attempt: 1 });
  const flushed = record.flush();
  record.keep('runtime.adapter.ran', tooLarge, { attempt: 1 });
  await flushed;
  await record.flush();
  const counts = ledger.read({ types: ['events.lost'] }).map(({ data }) => data.count);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(2);
});
