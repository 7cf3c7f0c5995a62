import { createManualClock, systemClock } from '@caisson/ground';
import { expect, test, vi } from 'vitest';
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
  const calls: string[][] = [];
  const append: Ledger['append'] = async (events, options) => {
    if (isLocked) throw new LedgerBusyError(ledger.file);
    calls.push(events.map(({ type }) => type));
    return ledger.append(events, options);
  };
  const recorder = createRecorder({ ledger: { append }, clock: systemClock });
  const received: PublishedEvent[] = [];
  recorder.listen((event) => received.push(event));
  const record = recorder.of(RUN, 'trace');
  await record.append('dispatch.accepted', SAMPLE_DATA['dispatch.accepted'], { attempt: 0 });
  const exits = (): unknown[] =>
    ledger.read({ runId: RUN, types: ['runtime.adapter.ran'] }).map(({ data }) => data.exitCode);
  const lock = (value: boolean): void => void (isLocked = value);
  return { ledger, recorder, record, received, exits, lock, calls };
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

test('what is kept is recorded in one call with what is appended behind it', async () => {
  const { record, received, calls } = await openRecord();
  record.keep('runtime.adapter.ran', ran(1), { attempt: 1 });
  record.keepWithNext('runtime.adapter.ran', ran(2), { attempt: 1 });
  const [queued] = await record.appendLast([{ type: 'run.queued', data: { position: 1, limit: 1 } }], 0);
  expect(queued).toMatchObject({ type: 'run.queued', seq: 4 });
  expect(calls.slice(1)).toEqual([['runtime.adapter.ran', 'runtime.adapter.ran', 'run.queued']]);
  expect(received.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
});

test('kept events that come together are recorded together, though nothing follows them', async () => {
  const { recorder, record, calls } = await openRecord();
  const both = Promise.withResolvers<void>();
  recorder.listen(({ seq }) => seq === 3 && both.resolve());
  for (const exit of [1, 2]) record.keep('runtime.adapter.ran', ran(exit), { attempt: 1 });
  await both.promise;
  expect(calls.slice(1)).toEqual([['runtime.adapter.ran', 'runtime.adapter.ran']]);
});

test('an event that waits for the next one is recorded without it, too', async () => {
  const { recorder, record, exits } = await openRecord();
  const recorded = Promise.withResolvers<void>();
  recorder.listen(() => recorded.resolve());
  record.keepWithNext('runtime.adapter.ran', ran(1), { attempt: 1 });
  await recorded.promise;
  expect(exits()).toEqual([1]);
});

test('a kept event that is refused takes no appended one with it, and is counted before the last', async () => {
  const { ledger, record } = await openRecord();
  record.keep('runtime.adapter.ran', { ...ran(1), signal: 'x'.repeat(5 * 1024 * 1024) }, { attempt: 1 });
  record.keep('runtime.adapter.ran', ran(2), { attempt: 1 });
  await record.appendLast([{ type: 'run.queued', data: { position: 1, limit: 1 } }], 0);
  expect(ledger.read({ runId: RUN, after: 1 }).map(({ type }) => type)).toEqual([
    'runtime.adapter.ran',
    'events.lost',
    'run.queued',
  ]);
});

test('an event that is kept after a slow write is recorded, too', async () => {
  const clock = createManualClock();
  const ledger = createMemoryLedger();
  const gate = Promise.withResolvers<void>();
  const append: Ledger['append'] = async (events, options) => {
    await gate.promise;
    return ledger.append(events, options);
  };
  const recorder = createRecorder({ ledger: { append }, clock });
  const record = recorder.of(null);
  const seen: number[] = [];
  recorder.listen(({ seq }) => seen.push(seq));
  const first = record.append('warning', { source: 'test', message: 'slow' }, { attempt: 0 });
  record.keep('warning', { source: 'test', message: 'kept meanwhile' }, { attempt: 0 });
  clock.advance(1000);
  gate.resolve();
  await first;
  await vi.waitFor(() => expect(seen).toEqual([1, 2]));
  await new Promise(setImmediate); // nothing is under way any more
  record.keep('warning', { source: 'test', message: 'kept later' }, { attempt: 0 });
  clock.advance(1000);
  await vi.waitFor(() => expect(seen).toEqual([1, 2, 3]));
});

test('what all records keep is written before the ledger is closed', async () => {
  const { ledger, recorder, record, exits } = await openRecord();
  record.keepWithNext('runtime.adapter.ran', ran(1), { attempt: 1 });
  const other = recorder.of(RUN);
  other.keep('runtime.adapter.ran', ran(2), { attempt: 1 });
  expect(exits()).toEqual([]);
  await recorder.flush();
  expect(exits()).toEqual([1, 2]);
  await ledger.close();
});

test('the count of what was lost is written before the ledger is closed, though nothing else is kept', async () => {
  const { ledger, recorder, record, received } = await openRecord();
  record.keep('runtime.adapter.ran', { ...ran(2), signal: 'x'.repeat(5 * 1024 * 1024) }, { attempt: 1 });
  record.keep('runtime.adapter.ran', ran(1), { attempt: 1 });
  await vi.waitFor(() => expect(received).toHaveLength(2));
  await recorder.flush();
  await recorder.flush();
  expect(ledger.read({ types: ['events.lost'] }).map(({ data }) => data)).toEqual([
    { count: 1, types: { 'runtime.adapter.ran': 1 } },
  ]);
});

test('an event has the time at which it happened', async () => {
  const { record } = await openRecord();
  const at = '2026-01-01T00:00:00.000Z';
  const queued = { type: 'run.queued', data: { position: 1, limit: 1 } } as const;
  const stored = await record.appendAll([{ ...queued, at }, queued], 0);
  expect(stored.map((event) => event.at === at)).toEqual([true, false]);
});
