import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createNdjsonDecoder, encodeNdjson } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';
import type { FollowHost, FollowOrder } from './contract.ts';
import { createLocalHosts } from './index.ts';

const ORDER: FollowOrder = { kind: 'follow', runs: ['run_x'], types: ['worker.progress'] };
const never = new AbortController().signal;

async function openHost(follow: FollowHost) {
  const stateDir = mkdtempSync(join(tmpdir(), 'caisson-hosts-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const hosts = createLocalHosts(stateDir);
  const post = await hosts.open('host_a', async () => ({ ok: true }), follow);
  const connectTo = (): Socket => {
    const socket = connect(join(stateDir, 'runtime/hosts/host_a.sock'));
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  return { hosts, post, connectTo };
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return signal.aborted ? Promise.resolve() : once(signal, 'abort');
}

test('a follower gets what happens in order until the host has nothing more, and the order is passed on', async () => {
  const orders: FollowOrder[] = [];
  const { hosts, post } = await openHost(async function* (order) {
    orders.push(order);
    yield { n: 1 };
    yield { n: 2 };
  });
  const received: unknown[] = [];
  const receive = (event: unknown): void => void received.push(event);
  expect(await hosts.follow('host_a', ORDER, { receive, signal: never })).toEqual({ ok: true });
  expect([orders, received]).toEqual([[ORDER], [{ n: 1 }, { n: 2 }]]);
  await post.stop();
  const reply = await hosts.follow('host_a', ORDER, { receive, signal: never });
  expect(reply).toEqual({ ok: false, message: 'host host_a does not answer' });
  expect(await hosts.follow('../x', ORDER, { receive, signal: never })).toMatchObject({ ok: false });
});

test('a follower that has enough, or is gone, ends what it followed', async () => {
  const gone: AbortSignal[] = [];
  const { hosts, post, connectTo } = await openHost(async function* (_order, signal) {
    gone.push(signal);
    yield {};
    await aborted(signal);
  });
  const enough = new AbortController();
  const receive = (): void => enough.abort();
  expect(await hosts.follow('host_a', ORDER, { receive, signal: enough.signal })).toEqual({ ok: true });
  await aborted(gone[0] ?? never);
  const socket = connectTo();
  socket.write(encodeNdjson(ORDER));
  await once(socket, 'data');
  socket.destroy();
  await aborted(gone[1] ?? never);
  await post.stop();
});

test('nothing is written to a follower that does not read, others get everything, and the host can close', async () => {
  const EVENTS = 4000;
  const pulled: number[] = [];
  let followers = 0;
  const line = { text: 'x'.repeat(1000) };
  const { hosts, post, connectTo } = await openHost(async function* () {
    const mine = followers++;
    for (pulled[mine] = 0; pulled[mine] < EVENTS; pulled[mine] += 1) yield line;
  });
  const still = connectTo();
  still.write(encodeNdjson(ORDER));
  await once(still, 'readable'); // and it reads nothing of it
  let received = 0;
  await hosts.follow('host_a', ORDER, { receive: () => (received += 1), signal: never });
  expect([pulled.length, received]).toEqual([2, EVENTS]);
  expect(pulled[0]).toBeLessThan(EVENTS / 4); // what fits into the buffers of one connection
  await post.stop();
  expect(await hosts.isAlive('host_a')).toBe(false);
});

test('a host that closes disconnects its followers, after what it had written', async () => {
  const { hosts, post } = await openHost(async function* (_order, signal) {
    yield { n: 1 };
    await aborted(signal);
  });
  const first = Promise.withResolvers<unknown>();
  const following = hosts.follow('host_a', ORDER, { receive: first.resolve, signal: never });
  expect(await first.promise).toEqual({ n: 1 });
  await post.stop();
  expect(await following).toEqual({ ok: true });
});

test('a host has at most 256 followers; the next one is refused, and one that leaves makes room', async () => {
  const { hosts, post, connectTo } = await openHost(async function* (_order, signal) {
    await aborted(signal);
    yield {};
  });
  const sockets = Array.from({ length: 256 }, () => connectTo());
  await Promise.all(
    sockets.map((socket) => {
      socket.write(encodeNdjson(ORDER));
      return once(socket, 'data');
    }),
  );
  const receive = (): void => undefined;
  const refused = { ok: false, message: '256 others follow this host already' };
  expect(await hosts.follow('host_a', ORDER, { receive, signal: never })).toEqual(refused);
  expect(await hosts.order('host_a', { kind: 'ping' })).toEqual({ ok: true });
  sockets[0]?.destroy();
  const answer = async (): Promise<unknown> => {
    const socket = connectTo();
    socket.write(encodeNdjson(ORDER));
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    return createNdjsonDecoder().push(chunk)[0];
  };
  await expect.poll(answer).toEqual({ kind: 'value', value: { ok: true } });
  await post.stop();
});
