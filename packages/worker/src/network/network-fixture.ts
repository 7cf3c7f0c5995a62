/** What the tests of this room share: an opened network, a client that speaks through its socket, an origin server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';
import type { ConnectionRecord, NetworkSettings, OpenNetwork, OpenNetworkOptions } from './contract.ts';
import { openNetwork } from './open-network.ts';

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface TestNetwork extends OpenNetwork {
  readonly records: ConnectionRecord[];
  /** Resolves when this many records were written. */
  recorded(count: number): Promise<ConnectionRecord[]>;
  ask(path: string, options?: AskOptions): Promise<Reply>;
  /** A raw connection to the socket. */
  dial(): Socket;
}

export interface AskOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly onChunk?: (chunk: string) => void;
}

const cleanups: (() => Promise<void> | void)[] = [];

export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
}

export async function openTestNetwork(
  options: Partial<OpenNetworkOptions> = {},
  settings: Partial<NetworkSettings> = {},
): Promise<TestNetwork> {
  const folder = mkdtempSync(join(tmpdir(), 'net-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const records: ConnectionRecord[] = [];
  const waiting = new Set<() => void>();
  const opened = await openNetwork(
    { clock: systemClock, ...settings },
    {
      socket: join(folder, 'n.sock'),
      hosts: [],
      model: null,
      services: [],
      onLoopback: false,
      onConnection: (record) => {
        records.push(record);
        for (const check of waiting) check();
      },
      ...options,
    },
  );
  cleanups.push(() => opened.close());
  return {
    ...opened,
    records,
    recorded: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (records.length >= count) resolve(records);
        };
        waiting.add(check);
        check();
      }),
    ask: (path, ask) => askThrough(opened.socket, path, ask),
    dial: () => connect(opened.socket),
  };
}

/** A server on loopback; returns its port. */
export async function startOrigin(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

export function askThrough(socketPath: string, path: string, options: AskOptions = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { socketPath, path, method: options.method ?? 'GET', headers: options.headers ?? {} },
      (incoming) => {
        let body = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (chunk: string) => {
          body += chunk;
          options.onChunk?.(chunk);
        });
        incoming.on('error', reject);
        incoming.on('end', () =>
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(options.body);
  });
}
