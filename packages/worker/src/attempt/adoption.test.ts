import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ADOPTION_VERSION, encodeNdjson, type AdoptionClaim } from '@caisson/protocol';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openAdoption } from './adoption.ts';

const CLAIM: AdoptionClaim = {
  kind: 'adopt',
  version: ADOPTION_VERSION,
  nonce: 'the-nonce',
  epoch: 2,
  hostPid: 4711,
};
const HANDOVER = {
  secrets: [{ name: 'TOKEN', value: 'hidden' }],
  lines: 7,
  requests: [{ id: 'r1', waitedMs: 5 }],
  elapsedMs: 1234,
};

/** A worker that records its calls. */
async function listen(
  options: {
    withinMs?: number;
    claimMs?: number;
    wallMs?: number;
    standing?: 'waiting' | 'driven' | 'alone';
  } = {},
) {
  const { withinMs = 60_000, claimMs = 10_000, wallMs = 60_000, standing = 'driven' } = options;
  const folder = mkdtempSync(join(tmpdir(), 'caisson-adoption-'));
  const socket = join(folder, 'control.sock');
  const done: string[] = [];
  let alone = (): void => undefined;
  const adoption = await openAdoption(
    { socket, withinMs },
    {
      job: {
        ...{ nonce: CLAIM.nonce, secrets: [{ name: 'TOKEN', value: 'hidden' }] },
        ...{ runId: 'run_00000000000000000001', wallMs, graceMs: 5000 },
      },
      control: {
        waitForNext: (onAlone) => (alone = onAlone),
        followNext: () => done.push('follow'),
        giveUp: () => done.push('give up'),
        standing: () => standing,
        stopAs: ({ reason, detail }) => done.push(`${reason}: ${detail}`),
      },
      writer: { count: HANDOVER.lines, turnTo: () => done.push('lines') },
      watch: { turnTo: (pid) => done.push(`watch ${pid}`) },
      openRequests: () => HANDOVER.requests,
      elapsedMs: () => HANDOVER.elapsedMs,
    },
    { claimMs },
  );
  onTestFinished(() => {
    adoption.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { socket, done, loseHost: () => alone(), close: () => adoption.close() };
}

interface Caller {
  readonly socket: Socket;
  readonly text: () => string;
  readonly closed: Promise<void>;
}

function call(path: string, sent: string): Caller {
  const socket = connect(path);
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  if (sent !== '') socket.write(sent);
  onTestFinished(() => void socket.destroy());
  return { socket, text: () => text, closed };
}

const parse = (text: string): unknown => JSON.parse(text);

describe('a worker that may be adopted', () => {
  it('gives who knows its nonce what no file has, and then its lines and its ear', async () => {
    const { socket, done } = await listen();
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    const host = call(socket, encodeNdjson(CLAIM));
    await expect.poll(host.text).toContain('\n');
    expect(parse(host.text())).toEqual({ ok: true, handover: HANDOVER });
    expect(done).toEqual(['watch 4711', 'follow', 'lines']);
  });

  it.each<[string, Partial<AdoptionClaim>, RegExp]>([
    ['another nonce', { nonce: 'the-nunce' }, /nonce is another one/],
    ['a longer nonce', { nonce: 'the-nonce-0' }, /nonce is another one/],
    ['the epoch that it has', { epoch: 1 }, /epoch 1 has this run already/],
    ['an older epoch', { epoch: 0 }, /epoch 1 has this run already/],
    ['another version', { version: ADOPTION_VERSION + 1 }, /speaks version \d+ of adoption, not \d+/],
    ['another kind', { kind: 'greet' as never }, /this is no claim/],
  ])('refuses %s with the reason, and changes nothing', async (_what, changes, why) => {
    const { socket, done } = await listen();
    const host = call(socket, encodeNdjson({ ...CLAIM, ...changes }));
    await host.closed;
    expect(parse(host.text())).toEqual({ ok: false, why: expect.stringMatching(why) });
    expect(done).toEqual([]);
  });

  it.each([
    ['garbage', 'hello there\n'],
    ['a line without an end', 'x'.repeat(10_000)],
  ])('refuses %s', async (_what, sent) => {
    const { socket, done } = await listen();
    const host = call(socket, sent);
    await host.closed;
    expect(host.text()).not.toContain('"ok":true');
    expect(done).toEqual([]);
  });

  it('closes a connection that says nothing in time, and no other', async () => {
    const { socket, done } = await listen({ claimMs: 300 });
    const silent = call(socket, '');
    const host = call(socket, encodeNdjson(CLAIM));
    await silent.closed;
    await expect.poll(host.text).toContain('"ok":true');
    expect([host.socket.destroyed, silent.text(), done.length]).toEqual([false, '', 3]);
  });

  it('follows the first of two hosts with the same epoch, and then one with a higher epoch', async () => {
    const { socket, done } = await listen();
    const first = call(socket, encodeNdjson(CLAIM));
    await expect.poll(first.text).toContain('"ok":true');
    const second = call(socket, encodeNdjson({ ...CLAIM, hostPid: 4712 }));
    await second.closed;
    expect(parse(second.text())).toEqual({ ok: false, why: 'epoch 2 has this run already' });
    const third = call(socket, encodeNdjson({ ...CLAIM, epoch: 3, hostPid: 4713 }));
    await expect.poll(third.text).toContain('"ok":true');
    expect(done.filter((each) => each.startsWith('watch'))).toEqual(['watch 4711', 'watch 4713']);
  });

  it('gives up when no host comes in time, and not when one came', async () => {
    const alone = await listen({ withinMs: 20 });
    alone.loseHost();
    await vi.waitFor(() => expect(alone.done).toEqual(['give up']));
    const adopted = await listen({ withinMs: 300 });
    adopted.loseHost();
    const host = call(adopted.socket, encodeNdjson(CLAIM));
    await expect.poll(host.text).toContain('"ok":true');
    await new Promise((resolve) => setTimeout(resolve, 400)); // longer than it would have waited
    expect(adopted.done).not.toContain('give up');
  });

  it('refuses a host that comes when it has given up: it is about to end', async () => {
    const { socket, done, loseHost } = await listen({ withinMs: 20, standing: 'alone' });
    loseHost();
    await vi.waitFor(() => expect(done).toEqual(['give up']));
    const late = call(socket, encodeNdjson(CLAIM));
    await expect.poll(late.text).toContain('\n');
    expect(parse(late.text())).toEqual({ ok: false, why: 'no host came in time, and this worker ends' });
    expect(done).toEqual(['give up']);
  });

  it('adopts nobody before its go: it ends with its host', async () => {
    const { socket, done } = await listen({ standing: 'waiting' });
    const host = call(socket, encodeNdjson(CLAIM));
    await host.closed;
    expect(parse(host.text())).toMatchObject({
      ok: false,
      why: expect.stringContaining('nothing has begun'),
    });
    expect(done).toEqual([]);
  });

  it('lets the same host ask again once its connection is gone, and not before', async () => {
    for (const [standing, ok] of [
      ['alone', true],
      ['driven', false],
    ] as const) {
      const { socket } = await listen({ standing });
      const first = call(socket, encodeNdjson(CLAIM));
      await expect.poll(first.text).toContain('\n');
      const second = call(socket, encodeNdjson(CLAIM));
      await expect.poll(second.text).toContain('\n');
      expect(parse(second.text().split('\n')[0] ?? '')).toMatchObject({ ok });
    }
  });

  it('stops at the time limit of its attempt while it is alone', async () => {
    const { done, loseHost } = await listen({ wallMs: 1250 }); // 16 ms are left
    loseHost();
    await expect.poll(() => done).toEqual(['timeout: no end after 1250 ms']);
  });
});
