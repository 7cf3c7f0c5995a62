/** A server on TCP with a limit on connections: what strangers hold is closed first, so they lock nobody out. */
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { findOwnPeer } from '@caisson/ground';
import type { Certificate } from '../face/index.ts';

const MAX_CONNECTIONS = 512;
/** Of those that have not shown a token yet; the oldest is closed for a new one. */
const MAX_STRANGERS = 64;

export interface TcpServer {
  readonly port: number;
  /** For the next connections. */
  useCertificate(certificate: Certificate): void;
  /** Closes every connection, too. */
  close(): Promise<void>;
}

export interface TcpPlace {
  readonly host: string;
  /** 0 is a free one. */
  readonly port: number;
  /** With it there is only HTTPS. */
  readonly certificate: Certificate | null;
}

/** `createAnswer` is called for the first request: most daemons never get one. Its `onKnown` takes who has shown a token. */
export async function openTcpServer(
  { host, port, certificate }: TcpPlace,
  createAnswer: (onKnown: (connection: Socket) => void) => RequestListener,
): Promise<TcpServer> {
  const connections = createConnections();
  let made: RequestListener | null = null;
  const pass: RequestListener = (request, response) => {
    made ??= createAnswer(connections.know);
    made(request, response);
  };
  const answer = certificate === null ? forOwnPeers(pass) : pass;
  const server = certificate === null ? createServer(answer) : createTlsServer({ ...certificate }, answer);
  server.maxConnections = MAX_CONNECTIONS;
  server.on('connection', connections.enter);
  await listen(server, { host, port });
  return {
    port: (server.address() as AddressInfo).port,
    useCertificate(next) {
      if ('setSecureContext' in server) server.setSecureContext({ ...next });
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.destroyAll();
      await closed;
    },
  };
}

/** Without TLS there is only the loopback address (F5), and another account of this machine gets no answer there (F6). */
function forOwnPeers(pass: RequestListener): RequestListener {
  const judged = new WeakMap<Socket, Promise<boolean>>();
  return (request, response) => {
    const { socket } = request;
    const isOwn = judged.get(socket) ?? findOwnPeer(socket);
    judged.set(socket, isOwn);
    void isOwn.then((own) => (own ? pass(request, response) : socket.destroy()));
  };
}

interface Connections {
  enter(connection: Socket): void;
  know(connection: Socket): void;
  destroyAll(): void;
}

function createConnections(): Connections {
  const all = new Map<string, Socket>();
  const strangers = new Map<string, Socket>();
  return {
    enter(connection) {
      const name = nameOf(connection);
      all.set(name, connection);
      strangers.set(name, connection);
      connection.once('close', () => {
        for (const some of [all, strangers]) if (some.get(name) === connection) some.delete(name);
      });
      const [oldest] = strangers.size > MAX_STRANGERS ? strangers.values() : [];
      oldest?.destroy();
    },
    know: (connection) => void strangers.delete(nameOf(connection)),
    destroyAll() {
      for (const connection of all.values()) connection.destroy();
    },
  };
}

/** A connection and its encrypted side have the same one. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function listen(server: Server | TlsServer, place: Pick<TcpPlace, 'host' | 'port'>): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(place, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
