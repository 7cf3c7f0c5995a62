import { SAMPLE_GRANT } from '../../../protocol/src/fixtures/sample-events.ts';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createManualClock, createStamp, type ManualClock } from '@caisson/ground';
import { expect, it, onTestFinished } from 'vitest';
import {
  createMemoryLedger,
  createRecorder,
  openLedger,
  type Ledger,
  type NewEvent,
} from '../ledger/index.ts';
import { lockLedger } from '../ledger/fixtures/lock-ledger.ts';
import { createCallbacks, type Callbacks, type CallbackEndpoint } from './index.ts';

const RUN = 'run_00000000000000000001';
const STAMP = createStamp(Buffer.from('a secret'));

async function serve(
  answer: (count: number) => number,
): Promise<{ url: string; received: IncomingHttpHeaders[] }> {
  const received: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      received.push(request.headers);
      response.writeHead(answer(received.length)).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received };
}

function fact(type: string, attempt: number, data: Record<string, unknown>): NewEvent {
  return { runId: RUN, attempt, type, version: 1, at: '2026-01-01T00:00:00.000Z', trace: 't', data };
}

const GRANT = { ...SAMPLE_GRANT, mode: 'auto-edit', read: ['/'] };
const ACCEPTED = fact('dispatch.accepted', 0, {
  task: { id: RUN, description: 'x', priority: 5 },
  runtime: 'command',
  host: 'host_a',
  grant: GRANT,
  resolved: { capabilities: [], env: [], model: { requested: '', served: [] } },
});
const FAILED = fact('dispatch.failed', 0, { durationMs: 1, failure: { reason: 'lost', detail: 'x' } });

interface Host {
  readonly callbacks: Callbacks;
  readonly clock: ManualClock;
  record(event: NewEvent): Promise<void>;
}

interface HostOptions {
  readonly living?: string[];
  readonly onWarning?: (message: string) => void;
  readonly resolved?: string[];
}

function host(
  ledger: Ledger,
  endpoints: CallbackEndpoint[],
  hostId: string,
  { living = [], onWarning, resolved = [] }: HostOptions = {},
): Host {
  const clock = createManualClock();
  const callbacks = createCallbacks({
    recorder: createRecorder({ ledger, clock }),
    endpoints,
    ledger,
    hostId,
    clock,
    stamp: STAMP,
    resolveSecret: (ref) => {
      resolved.push(ref);
      return Promise.resolve(ref);
    },
    isHostAlive: (id) => Promise.resolve(living.includes(id)),
    warn: (message) => {
      if (onWarning === undefined) throw new Error(message);
      onWarning(message);
    },
  });
  onTestFinished(() => callbacks.stop());
  return {
    callbacks,
    clock,
    async record(event) {
      for (const stored of await ledger.append([event])) callbacks.receive(stored);
    },
  };
}

/** Moves time on whenever the delivery waits, until it is concluded. */
async function conclude(ledger: Ledger, { clock }: Host): Promise<Record<string, unknown>> {
  for (;;) {
    const [end] = ledger.read({ runId: RUN, types: ['callback.delivered', 'callback.failed'] });
    if (end !== undefined) return { type: end.type, ...end.data };
    if (clock.pendingTimers() > 0) clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it('an endpoint that never takes the event is tried six times, then failed for good', async () => {
  const ledger = createMemoryLedger();
  const { url, received } = await serve(() => 503);
  const one = host(ledger, [{ url }], 'host_a');
  one.callbacks.open(RUN, []);
  await one.record(ACCEPTED);
  await one.record(FAILED);
  expect(await conclude(ledger, one)).toMatchObject({
    type: 'callback.failed',
    tries: 6,
    detail: 'answered 503',
  });
  expect(received).toHaveLength(6);
  expect(new Set(received.map((headers) => headers['x-caisson-delivery'])).size).toBe(1);
  expect(ledger.kv.list('callback-outbox')).toEqual([]);
  expect(ledger.kv.list('callback-endpoints')).toEqual([]);
});

it('what a dead host recorded and never queued is sent by the next one, once', async () => {
  const ledger = createMemoryLedger();
  const { url, received } = await serve(() => 200);
  const dead = host(ledger, [{ url }], 'host_a');
  dead.callbacks.open(RUN, []);
  await ledger.append([ACCEPTED]);
  await ledger.append([FAILED]); // and then it died
  const next = host(ledger, [], 'host_b');
  next.callbacks.resume();
  expect(await conclude(ledger, next)).toMatchObject({ type: 'callback.delivered', tries: 1, status: 200 });
  const third = host(ledger, [], 'host_c');
  third.callbacks.resume();
  await third.callbacks.settle(1000);
  expect(received).toHaveLength(1);
});

it('a delivery that a living host has in hand is left to it; that of a dead one is taken over', async () => {
  const ledger = createMemoryLedger();
  const { url, received } = await serve((count) => (count === 1 ? 500 : 200));
  const first = host(ledger, [{ url }], 'host_a');
  first.callbacks.open(RUN, []);
  await first.record(ACCEPTED);
  await first.record(FAILED);
  await expect.poll(() => first.clock.pendingTimers()).toBe(1); // it waits for its second try
  const polite = host(ledger, [], 'host_b', { living: ['host_a'] });
  polite.clock.advance(60_000);
  polite.callbacks.resume();
  await polite.callbacks.settle(10);
  expect(received).toHaveLength(1);
  const heir = host(ledger, [], 'host_c');
  heir.clock.advance(60_000);
  heir.callbacks.resume();
  expect(await conclude(ledger, heir)).toMatchObject({ type: 'callback.delivered', tries: 2 });
});

it('only the requested events are sent, and a stopped host leaves the rest in the outbox', async () => {
  const ledger = createMemoryLedger();
  const { url, received } = await serve(() => 200);
  const one = host(ledger, [{ url, when: ['dispatch.accepted'] }, { url: 'http://127.0.0.1:1/' }], 'host_a');
  one.callbacks.open(RUN, []);
  await one.record(ACCEPTED);
  expect(await conclude(ledger, one)).toMatchObject({
    type: 'callback.delivered',
    event: 'dispatch.accepted',
  });
  await one.record(FAILED);
  await expect.poll(() => one.callbacks.standings(RUN)[1]?.tries).toBe(1);
  await one.callbacks.stop();
  expect(received).toHaveLength(1);
  expect(one.callbacks.standings(RUN)[1]).toMatchObject({
    status: 'pending',
    event: 'dispatch.failed',
    detail: 'ECONNREFUSED',
  });
});

it('a row that we did not sign is dropped and said: nothing is sent, and no secret is looked up', async () => {
  const ledger = createMemoryLedger();
  const { url, received } = await serve(() => 200);
  const endpoint = { url, key: 'exec:touch owned', when: ['dispatch.failed'] };
  const row = {
    ...{ id: 'a', runId: RUN, attempt: 0, trace: '', event: 'dispatch.failed', seq: 1 },
    endpoint,
  };
  const delivery = { ...row, body: '{}', queuedAtMs: 0, dueAtMs: 0, tries: 0 };
  ledger.kv.set('callback-outbox', 'a', delivery);
  const other = createStamp(Buffer.from('of another user'));
  ledger.kv.set('callback-outbox', 'b', other.wrap('callback-outbox:b', JSON.stringify(delivery)));
  ledger.kv.set('callback-outbox', 'c', STAMP.wrap('callback-outbox:other', JSON.stringify(delivery)));
  ledger.kv.set('callback-endpoints', RUN, { host: 'host_dead', endpoints: [endpoint] });
  await ledger.append([ACCEPTED]);
  await ledger.append([FAILED]);
  const [warnings, resolved]: [string[], string[]] = [[], []];
  const next = host(ledger, [], 'host_b', { onWarning: (message) => warnings.push(message), resolved });
  next.callbacks.resume();
  await next.callbacks.settle(1000);
  expect(warnings).toEqual(['4 queued callbacks were not written by this Caisson and were dropped']);
  expect([
    received,
    resolved,
    ledger.kv.list('callback-outbox'),
    ledger.kv.list('callback-endpoints'),
  ]).toEqual([[], [], [], []]);
});

it('a host that stops waits for a locked ledger for two seconds only, and says nothing after that', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-callbacks-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const ledger = openLedger(join(folder, 'ledger.db'));
  const unlock = { now: (): void => undefined };
  onTestFinished(async () => {
    unlock.now();
    await ledger.close();
  });
  const { url, received } = await serve(() => {
    unlock.now = lockLedger(ledger.file ?? '');
    return 503; // that it has to be tried again cannot be kept now
  });
  const warnings: string[] = [];
  const one = host(ledger, [{ url }], 'host_a', { onWarning: (message) => warnings.push(message) });
  one.callbacks.open(RUN, []);
  await one.record(ACCEPTED);
  await one.record(FAILED);
  while (received.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const timersBefore = one.clock.pendingTimers();
  const stopped = one.callbacks.stop();
  expect(one.clock.pendingTimers()).toBe(timersBefore + 1);
  one.clock.advance(2000);
  await stopped;
  unlock.now();
  await ledger.close();
  expect(warnings).toEqual([]);
});
