import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const HERE = import.meta.dirname;
const RELAYS = {
  perl: ['/usr/bin/perl', join(HERE, 'inside.pl'), 'relay'],
  node: [process.execPath, join(HERE, 'relay.ts')],
};
/** As in a sandbox: a PID namespace, at the end of which nothing of the relay is left. */
const NAMESPACE = ['--dev-bind', '/', '/', '--unshare-pid', '--die-with-parent', '--proc', '/proc', '--'];
let folder: string;
let broker: Server;
let port: number;
const relays: ChildProcess[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'relay-'));
  broker = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
  await new Promise<void>((resolve) => {
    broker.listen(join(folder, 'net.sock'), resolve);
  });
  port = await freePort();
});

afterEach(() => {
  for (const relay of relays.splice(0)) relay.kill('SIGKILL');
  broker.close();
  rmSync(folder, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => {
    probe.listen(0, '127.0.0.1', resolve);
  });
  const { port: found } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return found;
}

/** The process inside that the sandbox signals: the only child of the namespace's init. */
function insideOf(relay: ChildProcess): number {
  const childOf = (pid: number): number =>
    Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0]);
  return childOf(childOf(relay.pid ?? 0));
}

function dial(): Socket {
  return connect({ port, host: '127.0.0.1', allowHalfOpen: true });
}

describe.each(['perl', 'node'] as const)('the relay in %s', (kind) => {
  function startRelay(...command: string[]): ChildProcess {
    const words = [...RELAYS[kind], String(port), join(folder, 'net.sock'), '--', ...command];
    const relay = spawn('bwrap', [...NAMESPACE, ...words]);
    relays.push(relay);
    return relay;
  }

  /** A relay whose command says that it runs and then reads its stdin. */
  async function startWaiting(): Promise<ChildProcess> {
    const relay = startRelay('sh', '-c', 'echo up; cat; exit 7');
    await once(relay.stdout!, 'data');
    return relay;
  }

  test('the command has the streams of the relay, and its exit code is the relay’s', async () => {
    const relay = startRelay('sh', '-c', 'cat; echo err >&2; exit 3');
    relay.stdin!.end('through stdin');
    const [stdout, stderr, [code]] = await Promise.all([
      text(relay.stdout!),
      text(relay.stderr!),
      once(relay, 'exit'),
    ]);
    expect([stdout, stderr, code]).toEqual(['through stdin', 'err\n', 3]);
  });

  test('a command that dies of a signal shows as 128 and its number', async () => {
    const relay = startRelay('sh', '-c', 'kill -KILL $$');
    expect(await once(relay, 'exit')).toEqual([137, null]);
  });

  test('a signal to the relay reaches the command, which may answer it as it likes', async () => {
    const relay = startRelay(
      'sh',
      '-c',
      'trap "echo received; exit 9" TERM; echo up; while :; do sleep 0.05; done',
    );
    await once(relay.stdout!, 'data');
    const rest = text(relay.stdout!);
    process.kill(insideOf(relay), 'SIGTERM');
    expect([await once(relay, 'exit'), await rest]).toEqual([[9, null], 'received\n']);
  });

  test('a command that cannot be started is 127 with its name', async () => {
    const relay = startRelay('/no/such/program');
    const [stderr, [code]] = await Promise.all([text(relay.stderr!), once(relay, 'exit')]);
    expect([stderr, code]).toEqual([expect.stringContaining('/no/such/program'), 127]);
  });

  test('a port that is taken is reported, and the command does not run', async () => {
    await startWaiting();
    const second = startRelay('echo', 'ran');
    const [stdout, stderr, [code]] = await Promise.all([
      text(second.stdout!),
      text(second.stderr!),
      once(second, 'exit'),
    ]);
    expect([stdout, stderr, code]).toEqual(['', expect.stringContaining(String(port)), 125]);
  });

  test('a hundred connections at once each carry a megabyte there and back, also after half-close', async () => {
    await startWaiting();
    const payload = Buffer.alloc(2 ** 20, 'x');
    const sizes = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const socket = dial();
        socket.end(payload);
        return (await buffer(socket)).length;
      }),
    );
    expect(new Set(sizes)).toEqual(new Set([2 ** 20]));
  });

  test('a connection that breaks on one side breaks on the other', async () => {
    const relay = await startWaiting();
    const accepted = once(broker, 'connection') as Promise<[Socket]>;
    const socket = dial();
    const [atBroker] = await accepted;
    const closed = once(atBroker, 'close');
    socket.resetAndDestroy();
    await closed;
    expect(relay.exitCode).toBeNull();
  });

  test('when the command has ended the relay ends at once, whatever is still connected', async () => {
    const relay = await startWaiting();
    const socket = dial();
    socket.on('error', () => undefined);
    await once(broker, 'connection');
    const closed = once(socket, 'close');
    relay.stdin!.end();
    expect(await once(relay, 'exit')).toEqual([7, null]);
    socket.resume();
    socket.end();
    await closed;
  });
});
