/** The daemon on TCP: where it listens, and that the next daemon listens there, too. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { FaceOrder, FaceStanding } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { ApiHost } from '../api/index.ts';
import type { Engine } from '../engine.ts';
import { createLinks } from '../face/index.ts';
import { VisitRefusedError } from '../platform/index.ts';
import { answerVisits } from './answer-visits.ts';

const LOOPBACK = '127.0.0.1';
const REMEMBERED = ['face', 'listen'] as const;

export interface DaemonFace {
  /** Listens, if it does not yet, and makes a link for one page. */
  open(order: FaceOrder): Promise<FaceStanding>;
  /** Ends it. `forgets`: the next daemon does not listen either. */
  close(forgets: boolean): Promise<void>;
  /** Listens where a daemon before this one did. */
  reopen(): Promise<void>;
  url(): string | null;
}

export interface FaceRooms {
  readonly engine: Engine;
  readonly host: ApiHost;
  /** Answers the routes about the daemon itself. */
  readonly answerControl: RequestListener;
  warn(message: string): void;
}

export function createDaemonFace({ engine, host, answerControl, warn }: FaceRooms): DaemonFace {
  const { clock, ledger } = engine;
  const links = createLinks(clock);
  let port: number | null = null;
  const origins = (): string[] =>
    port === null ? [] : [LOOPBACK, 'localhost'].map((name) => `http://${name}:${port}`);
  const { server, destroyAll } = createTcpServer(() =>
    answerVisits({ engine, host, answerControl, links, origins }),
  );
  const begin = async (wanted: number): Promise<void> => {
    port = await listen(server, wanted);
    ledger.kv.set(...REMEMBERED, port);
  };
  const url = (): string | null => (port === null ? null : `http://${LOOPBACK}:${port}/`);
  return {
    url,
    async open({ port: wanted = 0 }) {
      if (port === null) await begin(wanted).catch((error: unknown) => refusePort(wanted, error));
      else if (wanted !== 0 && wanted !== port) refuseSecond(port);
      return { url: `${url()}`, link: `${url()}#link=${links.create()}` };
    },
    async reopen() {
      const remembered = z.safeParse(z.int(), ledger.kv.get(...REMEMBERED)).data;
      if (remembered === undefined) return;
      await begin(remembered).catch((error: unknown) =>
        warn(
          `the dashboard is not served: port ${remembered} cannot be opened (${(error as Error).message})`,
        ),
      );
    },
    async close(forgets) {
      if (forgets && ledger.isThere()) ledger.kv.delete(...REMEMBERED);
      if (port === null) return;
      port = null;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      destroyAll();
      await closed;
    },
  };
}

/** `answer` is made for the first request: most daemons never get one. */
function createTcpServer(createAnswer: () => RequestListener): { server: Server; destroyAll(): void } {
  const connections = new Set<Socket>();
  let answer: RequestListener | null = null;
  const server = createServer((request, response) => {
    answer ??= createAnswer();
    answer(request, response);
  });
  server.on('connection', (connection: Socket) => {
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
  });
  return {
    server,
    destroyAll() {
      for (const connection of connections) connection.destroy();
    },
  };
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: LOOPBACK, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

function refusePort(port: number, error: unknown): never {
  throw new VisitRefusedError(
    409,
    'PORT_TAKEN',
    `port ${port} cannot be opened: ${(error as Error).message}`,
    'Take another one: caisson ui --port N; without --port a free one is taken.',
  );
}

function refuseSecond(port: number): never {
  const remedy = 'Use that one, or end it first: caisson ui --stop.';
  throw new VisitRefusedError(409, 'ALREADY_LISTENING', `the daemon listens on port ${port} already`, remedy);
}
