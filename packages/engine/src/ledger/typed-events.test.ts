/** Wrong data at each edge of the ledger: what is written, and what is read. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import { accepted, fact, finished } from './fixtures/sample-events.ts';
import {
  createMemoryLedger,
  createRecorder,
  hashEvent,
  InvalidEventError,
  NO_ATTEMPT,
  openLedger,
  toChainEvent,
  type PublishedEvent,
  type RunRecord,
} from './index.ts';

const RUN = 'run_00000000000000000001';

function openRecord() {
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock: systemClock });
  const received: PublishedEvent[] = [];
  recorder.listen((event) => received.push(event));
  return { ledger, received, record: recorder.of(RUN) };
}

/** As a caller without a compiler would call it. */
type Untyped = {
  [K in 'append' | 'keep' | 'publish']: (type: string, data: unknown, place: unknown) => unknown;
};
const untyped = (record: RunRecord): Untyped => record as unknown as Untyped;

const { denial: DENIAL } = SAMPLE_DATA['policy.denied'];
const RISK = { path: '.npmrc', why: 'npm obeys it' };

const PLANTED: [string, string, unknown][] = [
  ['a wrong field', 'run.queued', { position: 'first', limit: 1 }],
  ['a missing field', 'run.queued', { position: 1 }],
  ['a field that nobody defined', 'run.queued', { position: 1, limit: 1, colour: 'red' }],
  ['a nested field that nobody defined', 'policy.denied', { denial: { ...DENIAL, colour: 'red' } }],
  ['such a field in a list', 'dispatch.finished', { durationMs: 1, risky: [{ ...RISK, colour: 'red' }] }],
  ['an unknown type', 'run.moved', { to: 'mars' }],
  ['data that is none', 'run.queued', null],
];

test.each(PLANTED)('%s is neither appended nor received', async (_what, type, data) => {
  const { ledger, received, record } = openRecord();
  await expect(untyped(record).append(type, data, NO_ATTEMPT)).rejects.toThrow(InvalidEventError);
  const both = [
    { type: 'warning', data: SAMPLE_DATA.warning },
    { type, data },
  ];
  await expect(record.appendAll(both as never, 1)).rejects.toThrow(InvalidEventError);
  expect([ledger.read(), received]).toEqual([[], []]);
});

test.each(PLANTED)('%s that nobody waits for is lost, counted and reported', async (_what, type, data) => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => warned.mockRestore());
  const { ledger, received, record } = openRecord();
  untyped(record).keep(type, data, NO_ATTEMPT);
  untyped(record).publish(type, data, 1);
  await record.flush();
  const [misfit = ''] = warned.mock.calls[0] as string[];
  expect(ledger.read().map(({ data: reported }) => reported)).toEqual([{ count: 1, types: { [misfit]: 1 } }]);
  expect(misfit).toContain(type);
  expect(received.map((event) => event.type)).toEqual(['events.lost']);
  expect(warned).toHaveBeenCalledTimes(2);
});

test('the compiler refuses the same', () => {
  const check = (record: RunRecord): void => {
    // @ts-expect-error -- a wrong field
    void record.append('run.queued', { position: 'first', limit: 1 }, NO_ATTEMPT);
    // @ts-expect-error -- a missing field
    record.keep('run.queued', { position: 1 }, NO_ATTEMPT);
    // @ts-expect-error -- a field that nobody defined
    void record.append('run.queued', { position: 1, limit: 1, colour: 'red' }, NO_ATTEMPT);
    // @ts-expect-error -- a nested field that nobody defined
    record.keep('policy.denied', { denial: { layer: 'gate', what: 'rm', colour: 'red' } }, NO_ATTEMPT);
    // @ts-expect-error -- an unknown type
    record.publish('run.moved', { to: 'mars' }, 1);
    // @ts-expect-error -- an event that is only received
    void record.append('worker.progress', { phase: 'agent' }, NO_ATTEMPT);
    // @ts-expect-error -- an event without its attempt
    record.keep('run.queued', { position: 1, limit: 1 });
    // @ts-expect-error -- a place without its attempt
    void record.append('run.queued', { position: 1, limit: 1 }, { id: 'a' });
  };
  expect(check).toBeTypeOf('function');
});

test('what another version left on disk is read, shown as unknown, verified and continued', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-ledger-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'ledger.db');
  const writer = openLedger(file);
  // An ending would end the run; the test below has one.
  const planted = PLANTED.filter(([, type, data]) => data !== null && type !== 'dispatch.finished');
  await writer.append([accepted(RUN)]);
  for (const [, type, data] of planted)
    await writer.append([{ ...fact(RUN, data as Record<string, unknown>), type, version: 9 }]);
  await writer.close();

  const ledger = openLedger(file);
  onTestFinished(() => ledger.close());
  const events = ledger.read({ runId: RUN, after: 1 });
  expect(events.map(({ data }) => data)).toEqual(planted.map(([, , data]) => data));
  expect(events.map(({ type }) => type)).toEqual([
    'unknown',
    'unknown',
    'run.queued',
    'policy.denied',
    'unknown',
  ]);
  expect(events.map(toChainEvent).map(({ type }) => type)).toEqual(planted.map(([, type]) => type));
  expect(ledger.read({ types: ['run.queued'] }).map(({ seq }) => seq)).toEqual([4]);
  expect(ledger.read().every((event) => hashEvent(toChainEvent(event)) === event.hash)).toBe(true);
  await ledger.append([finished(RUN, 0)]);
  expect(ledger.run(RUN)?.status).toBe('done');
  expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
});

test('a drop of an earlier version is read beside one without a sense, which that version did not know', async () => {
  const { ledger, record } = openRecord();
  const earlier = { name: 'red', sense: 'a', why: 'loop', count: 1, causes: [] };
  await ledger.append([{ ...fact(RUN, earlier), runId: null, type: 'signal.dropped', version: 1 }]);
  const own = { name: 'error', endedRun: RUN, why: 'blocked' as const, count: 1, causes: [] };
  await record.append('signal.dropped', own, NO_ATTEMPT);
  const drops = ledger.read({ types: ['signal.dropped'] }).map(({ version, data }) => [version, data]);
  expect(drops).toEqual([
    [1, earlier],
    [2, own],
  ]);
});

test('an ending that another version wrote still ends its run, once', async () => {
  const ledger = createMemoryLedger();
  await ledger.append([
    accepted(RUN),
    { ...fact(RUN, { how: 'well' }), type: 'dispatch.finished', attempt: 0 },
  ]);
  expect(ledger.run(RUN)).toMatchObject({ status: 'done', ending: 'dispatch.finished', unsealed: true });
  await expect(ledger.append([finished(RUN, 0)])).rejects.toThrow('already ended');
  const rows = ledger.runs();
  ledger.rebuildProjections();
  expect(ledger.runs()).toEqual(rows);
});

test('what is durable is not only published, and what is only published is not recorded', async () => {
  const { ledger, record } = openRecord();
  const { denial } = SAMPLE_DATA['policy.denied'];
  // @ts-expect-error -- it is durable
  record.publish('policy.denied', { denial }, 1);
  const { counters } = SAMPLE_DATA['worker.heartbeat'];
  await expect(untyped(record).append('worker.heartbeat', { counters }, NO_ATTEMPT)).rejects.toThrow(
    'is only published',
  );
  expect(ledger.read()).toEqual([]);
});
