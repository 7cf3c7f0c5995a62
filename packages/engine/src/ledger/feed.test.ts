import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';
import { expect, onTestFinished, test } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import {
  createFeed,
  createRecorder,
  openLedger,
  parseLiveEvent,
  type FeedQuery,
  type LiveSource,
  type PublishedEvent,
} from './index.ts';

const RUN = 'run_00000000000000000001';
const OTHER = 'run_00000000000000000002';

/** Another call with the same file is another process as far as a ledger can see. */
function open(file = newFile()) {
  const opened = openLedger(file);
  onTestFinished(() => opened.close());
  let watches = 0;
  const ledger = {
    ...opened,
    watch(onChange: Parameters<typeof opened.watch>[0]) {
      const stop = opened.watch(onChange);
      watches += 1;
      return () => {
        watches -= 1;
        stop();
      };
    },
  };
  const recorder = createRecorder({ ledger, clock: systemClock });
  const feed = createFeed({ ledger, recorder, clock: systemClock });
  return { file, ledger, feed, recorder, record: recorder.of(RUN), watches: () => watches };
}

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-feed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'ledger.db');
}

/** `position` of run.queued, and `phase:message` of what is only told. */
const name = (event: PublishedEvent): unknown => {
  if (event.type === 'run.queued') return event.data.position;
  if (event.type === 'worker.progress') return event.data.message;
  return event.type === 'gap' ? { gap: event.data.count } : event.type;
};

async function collect(
  { feed }: Pick<ReturnType<typeof open>, 'feed'>,
  query: FeedQuery,
  onEvent: (count: number) => unknown = () => undefined,
): Promise<unknown[]> {
  const names: unknown[] = [];
  for await (const event of feed.read(query)) {
    names.push(name(event));
    await onEvent(names.length);
  }
  return names;
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

test('ten readers of one run, two of them slow, hear the same and hold up nobody', async () => {
  const stage = open();
  const over = new AbortController();
  const release = Promise.withResolvers<void>();
  const slowly = (count: number) => (count === 3 ? release.promise : undefined);
  const query = { runId: RUN, until: over.signal };
  const quick = numbers(8).map(() => collect(stage, query));
  const slow = numbers(2).map(() => collect(stage, query, slowly));
  for (const position of numbers(2500))
    stage.record.keep('run.queued', { position, limit: 1 }, { attempt: 0 });
  await stage.record.flush();
  over.abort();
  const received = await Promise.all(quick);
  expect(received).toEqual(numbers(8).map(() => numbers(2500)));
  release.resolve();
  expect(await Promise.all(slow)).toEqual([numbers(2500), numbers(2500)]);
  expect(stage.watches()).toBe(0);
});

test('live events come in their place, and a slow reader gets the number of those that were left out', async () => {
  const stage = open();
  const over = new AbortController();
  const release = Promise.withResolvers<void>();
  const query = { runId: RUN, until: over.signal };
  const quick = collect(stage, query);
  const slow = collect(stage, query, (count) => (count === 1 ? release.promise : undefined));
  const emit = (message: string): void =>
    stage.record.publish('worker.progress', { phase: 'agent', message }, 1);
  await stage.record.append('run.queued', { position: 0, limit: 1 }, { attempt: 0 });
  await new Promise(setImmediate);
  emit('a');
  await stage.record.append('run.queued', { position: 1, limit: 1 }, { attempt: 0 });
  emit('b');
  await new Promise(setImmediate);
  for (const index of numbers(1001)) emit(`c${index}`);
  await stage.record.append('run.queued', { position: 2, limit: 1 }, { attempt: 0 });
  over.abort();
  release.resolve();
  expect((await quick).slice(0, 4)).toEqual([0, 'a', 1, 'b']);
  expect((await quick).at(-1)).toBe(2);
  const left = await slow;
  expect(left[0]).toBe(0);
  expect(left).toContainEqual({ gap: expect.any(Number) });
  expect(left.filter((each) => typeof each === 'number')).toEqual([0, 1, 2]);
});

test('what another process records is read in the same shape, by a reader of its run and one of everything', async () => {
  const here = open();
  const there = open(here.file);
  const [ofRun, ofAll] = [new AbortController(), new AbortController()];
  const run = collect(here, { runId: RUN, signal: ofRun.signal }, (count) => count === 3 && ofRun.abort());
  const all = collect(here, { signal: ofAll.signal }, (count) => count === 5 && ofAll.abort());
  await here.record.append('run.queued', { position: 0, limit: 1 }, { attempt: 0 });
  await there.record.append('run.queued', { position: 1, limit: 1 }, { attempt: 0 });
  await there.recorder.of(OTHER).append('warning', SAMPLE_DATA.warning, { attempt: 0 });
  await there.recorder.of(null).append('task.refused', SAMPLE_DATA['task.refused'], { attempt: 0 });
  await here.record.append('run.queued', { position: 2, limit: 1 }, { attempt: 0 });
  expect(await run).toEqual([0, 1, 2]);
  expect(await all).toEqual([0, 1, 'warning', 'task.refused', 2]);
});

test('a reader begins after its own cursor, and one that stops early leaves nothing behind', async () => {
  const stage = open();
  for (const position of numbers(4))
    await stage.record.append('run.queued', { position, limit: 1 }, { attempt: 0 });
  const stop = new AbortController();
  const others = collect(stage, { runId: RUN, after: 2, signal: stop.signal });
  for await (const event of stage.feed.read({ runId: RUN, after: 1 })) {
    expect(name(event)).toBe(1);
    expect(stage.watches()).toBe(1);
    break;
  }
  expect(stage.watches()).toBe(1);
  stop.abort();
  expect(await others).toEqual([2, 3]);
  expect(stage.watches()).toBe(0);
  const waiting = collect(stage, {});
  stage.feed.stop();
  await waiting;
  expect(stage.watches()).toBe(0);
});

/** What a process publishes, as it comes over a socket. */
function liveOf({ feed }: Pick<ReturnType<typeof open>, 'feed'>): LiveSource {
  return (receive) => {
    const stopping = new AbortController();
    void (async () => {
      for await (const live of feed.live({}, stopping.signal)) {
        const parsed = parseLiveEvent(JSON.parse(JSON.stringify(live)));
        if (parsed !== null) receive(parsed);
      }
    })();
    return () => stopping.abort();
  };
}

test('live events of another process come in their place, to a reader of its run and one of everything', async () => {
  const here = open();
  const there = open(here.file);
  const over = new AbortController();
  const emit = (message: string): void =>
    there.record.publish('worker.progress', { phase: 'agent', message }, 1);
  const append = (position: number) =>
    there.record.append('run.queued', { position, limit: 1 }, { attempt: 0 });
  await append(0);
  const others = liveOf(there);
  const ends = (count: number) => count === 7 && over.abort();
  const all = collect(here, { signal: over.signal, others });
  const run = collect(here, { runId: RUN, signal: over.signal, others }, ends);
  await new Promise(setImmediate);
  emit('a');
  await append(1);
  emit('b');
  emit('c');
  await append(2);
  emit('d');
  expect(await run).toEqual([0, 'a', 1, 'b', 'c', 2, 'd']);
  expect(await all).toEqual([0, 'a', 1, 'b', 'c', 2, 'd']);
});

test('a filter leaves out runs and types, and what it leaves out is seen by nobody but the caller of the feed', async () => {
  const here = open();
  const there = open(here.file);
  const other = there.recorder.of(OTHER);
  const over = new AbortController();
  const seen: string[] = [];
  const query: FeedQuery = {
    runs: [OTHER],
    types: ['worker.progress', 'warning'],
    until: over.signal,
    others: liveOf(there),
    onRecorded: ({ type }) => seen.push(type),
  };
  const read = collect(here, query, (count) => count === 2 && over.abort());
  await new Promise(setImmediate);
  there.record.publish('worker.progress', { phase: 'agent', message: 'of another run' }, 1);
  other.publish('worker.heartbeat', SAMPLE_DATA['worker.heartbeat'], 1);
  other.publish('worker.progress', { phase: 'agent', message: 'a' }, 1);
  await there.record.append('warning', SAMPLE_DATA.warning, { attempt: 0 });
  await other.append('run.queued', { position: 1, limit: 1 }, { attempt: 0 });
  await other.append('warning', SAMPLE_DATA.warning, { attempt: 0 });
  expect(await read).toEqual(['a', 'warning']);
  expect(seen).toEqual(['warning', 'run.queued', 'warning']);
});

test('a process that does not read what is live there gets their number, and adds what it loses itself', async () => {
  const { feed, record } = open();
  const emit = (count: number): void => {
    for (const index of numbers(count))
      record.publish('worker.progress', { phase: 'agent', message: `c${index}` }, 1);
  };
  const stop = new AbortController();
  const live = feed.live({ runs: [RUN] }, stop.signal);
  const first = live.next();
  emit(1);
  expect((await first).value?.event.seq).toBe(0);
  emit(2500);
  const gap = (await live.next()).value;
  expect(gap?.event).toMatchObject({ type: 'gap', runId: RUN, data: { count: 2000 } });
  const rest = [];
  while (rest.length < 500) rest.push((await live.next()).value?.event.type);
  expect(new Set(rest)).toEqual(new Set(['worker.progress']));
  stop.abort();
  expect((await live.next()).done).toBe(true);

  const reader = open();
  const over = new AbortController();
  const push = Promise.withResolvers<Parameters<LiveSource>[0]>();
  const source: LiveSource = (receive) => {
    push.resolve(receive);
    return () => undefined;
  };
  const read = collect(reader, { runId: RUN, until: over.signal, others: source });
  const receive = await push.promise;
  for (const _index of numbers(1001)) if (gap !== undefined) receive(gap);
  over.abort();
  expect(await read).toEqual([{ gap: 1000 * 2000 }, { gap: 2000 }]);
});
