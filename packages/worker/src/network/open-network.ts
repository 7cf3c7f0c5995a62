import { chmodSync, closeSync, openSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { ListenOptions, Socket } from 'node:net';
import { basename, dirname } from 'node:path';
import type { Duplex } from 'node:stream';
import { createRedactor, isOwnPeer, type NamedSecret, removeFileSync } from '@caisson/ground';
import { createConnectionLog, type ConnectionLog } from './connection-log.ts';
import type { NetworkSettings, OpenNetwork, OpenNetworkOptions } from './contract.ts';
import {
  createModelDoorway,
  createServiceDoorway,
  serveDoorways,
  type Doorway,
} from './credential-broker.ts';
import { NetworkOpenError } from './errors.ts';
import { IDLE_MS } from './exchange.ts';
import { createForwardProxy, type ForwardProxy } from './forward-proxy.ts';
import { createHostRules } from './host-rules.ts';
import { refuseTunnel } from './refuse.ts';
import { resolveBySystem } from './vetted-lookup.ts';

const MAX_CONNECTIONS = 256;
const MAX_HEADER_BYTES = 64 * 1024;
const HEADERS_MS = 30_000;
const KEEP_ALIVE_MS = 120_000;
const GONE: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'HPE_INVALID_EOF_STATE']);

/** Resolves when the socket listens. Throws NetworkOpenError. */
export async function openNetwork(
  settings: NetworkSettings,
  options: OpenNetworkOptions,
): Promise<OpenNetwork> {
  const { redact } = createRedactor(inAnyCase([...keysOf(options), ...(options.secrets ?? [])]));
  const model = options.model === null ? null : createModelDoorway(options.model, settings.clock, redact);
  const services = options.services.map(createServiceDoorway);
  const doorways = model === null ? services : [model, ...services];
  const log = createConnectionLog({
    clock: settings.clock,
    redact,
    onConnection: (record) => options.onConnection(record),
  });
  const rules = createHostRules(options.hosts);
  const proxy = createForwardProxy(rules, log, settings.resolveName ?? resolveBySystem);
  const stops = [await listenOnSocket(createGate(doorways, proxy, log), options.socket)];
  let loopbackPort: number | null = null;
  if (options.onLoopback) {
    const post = await listenOnLoopback(createGate(doorways, proxy, log));
    loopbackPort = post.port;
    stops.push(post.stop);
  }
  return {
    socket: options.socket,
    model: model === null ? null : { pathPrefix: model.pathPrefix, placeholder: model.placeholder },
    services: services.map(({ name, pathPrefix, placeholder }) => ({ name, pathPrefix, placeholder })),
    offersProxy: rules.texts.length > 0,
    loopbackPort,
    usage: model?.model?.usage ?? null,
    close: once(async () => {
      log.close();
      model?.model?.usage.close();
      for (const { destination } of doorways) destination.agent.destroy();
      proxy.close();
      await Promise.all(stops.map((stop) => stop()));
    }),
  };
}

/** The server inside: the request decides whether the broker or the proxy answers. */
function createGate(doorways: readonly Doorway[], proxy: ForwardProxy, log: ConnectionLog): Server {
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, noDelay: true }, (request, response) => {
    request.on('error', () => response.destroy());
    response.on('error', () => response.destroy()); // a client that disconnects must never become an uncaught error
    if ((request.url ?? '').startsWith('/')) serveDoorways(doorways, log, request, response);
    else proxy.serveHttp(request, response);
  });
  server.on('connect', (request, socket, head) => proxy.serveConnect(request, socket, head));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuseUnreadable(error, socket, log));
  server.on('drop', () => {
    log.start('http', 'any').end('denied', `more than ${MAX_CONNECTIONS} connections at once`);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = IDLE_MS;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.timeout = IDLE_MS;
  return server;
}

/** Input that is no HTTP request has a record as well (N4); a client that only disconnected requested nothing. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex, log: ConnectionLog): void {
  if (!socket.writable || GONE.has(error.code ?? '')) {
    socket.destroy();
    return;
  }
  log.start('http', 'no request').end('denied', error.message);
  const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const [status, reason] = isTooLarge
    ? ([431, 'Request Header Fields Too Large'] as const)
    : ([400, 'Bad Request'] as const);
  refuseTunnel(socket, status, reason, 'caisson: this is not a readable HTTP request');
}

/** Listens on the socket (0600); returns a function that ends every connection and removes it (N5). */
async function listenOnSocket(server: Server, socketPath: string): Promise<() => Promise<void>> {
  const stop = stopper(server);
  let folder: number | null = null;
  try {
    // A socket's path may have at most 107 bytes; through a descriptor of its folder any path works. The descriptor
    // stays open as long as the server: closing unlinks by that path, and the number could mean another folder by then.
    folder = openSync(dirname(socketPath), 'r');
    removeFileSync(socketPath);
    await listening(server, { path: `/proc/self/fd/${folder}/${basename(socketPath)}` });
    chmodSync(socketPath, 0o600);
  } catch (error) {
    if (folder !== null) closeSync(folder);
    throw new NetworkOpenError(`cannot listen on ${socketPath}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const held = folder;
  return async () => {
    await stop();
    closeSync(held);
    removeFileSync(socketPath);
  };
}

/** Another account's connection is closed without a word: nothing of it is this run's. */
async function listenOnLoopback(server: Server): Promise<{ port: number; stop: () => Promise<void> }> {
  const stop = stopper(server);
  server.on('connection', (socket: Socket) => {
    if (!isOwnPeer(socket)) socket.destroy();
  });
  await listening(server, { port: 0, host: '127.0.0.1' });
  const address = server.address();
  return { port: typeof address === 'object' && address !== null ? address.port : 0, stop };
}

function listening(server: Server, where: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(where, () => {
      server.unref();
      resolve();
    });
  });
}

/** Tracks every connection, tunnels too, so that all can be ended at once. */
function stopper(server: Server): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return async () => {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    for (const socket of sockets) socket.destroy();
    await closed;
  };
}

function keysOf(options: OpenNetworkOptions): { name: string; value: string }[] {
  const services = options.services.map(({ name, apiKey }) => ({ name, value: apiKey }));
  const key = options.model?.apiKey ?? null;
  return key === null ? services : [{ name: 'api-key', value: key }, ...services];
}

/** The name of a host is in lower case. */
function inAnyCase(secrets: readonly NamedSecret[]): NamedSecret[] {
  return secrets.flatMap(({ name, value }) => [
    { name, value },
    { name, value: value.toLowerCase() },
  ]);
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null;
  return () => (done ??= work());
}
