/** One HTTP request forwarded to another server: streamed both ways, counted, redirects never followed. */
import {
  request as httpRequest,
  type Agent as HttpAgent,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
  type ServerResponse,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline, type Duplex } from 'node:stream';
import { awaitConnection } from './await-connection.ts';
import type { OpenConnection } from './connection-log.ts';
import { PrivateAddressError } from './errors.ts';
import { refuseRequest } from './refuse.ts';

export const IDLE_MS = 15 * 60_000;

export interface Destination {
  readonly isSecure: boolean;
  readonly agent: HttpAgent;
  readonly options: Pick<RequestOptions, 'host' | 'port' | 'lookup'>;
  /** The name in messages when it cannot be reached. */
  readonly name: string;
}

export interface ExchangeOptions {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly destination: Destination;
  readonly path: string;
  /** The path as it may be recorded: without a query. */
  readonly recordedPath: string;
  readonly headers: OutgoingHttpHeaders;
  readonly connection: OpenConnection;
  /** Told whether the server was reached. */
  readonly reach?: { connected(): void; unreached(why: string): void } | null;
  answer(upstream: IncomingMessage): HandedOn | NotHandedOn;
}

/** The answer's headers, rewritten, and what its body passes through. */
export interface HandedOn {
  readonly headers: OutgoingHttpHeaders;
  readonly through: Duplex[];
}

/** An answer that the sandbox does not get, and its replacement. */
export interface NotHandedOn {
  readonly status: number;
  readonly why: string;
}

export function exchange(options: ExchangeOptions): void {
  const { request, response, destination, connection } = options;
  const label = `${request.method ?? 'GET'} ${options.recordedPath}`;
  const send = destination.isSecure ? httpsRequest : httpRequest;
  const outgoing = send({
    ...destination.options,
    agent: destination.agent,
    method: request.method,
    path: options.path,
    headers: options.headers,
    setHost: false,
  });
  let isConnected = false;
  outgoing.once('socket', (socket) =>
    awaitConnection(socket, destination.isSecure, () => {
      isConnected = true;
      options.reach?.connected();
    }),
  );
  outgoing.setTimeout(IDLE_MS, () => outgoing.destroy(new Error(`silent for ${IDLE_MS / 60_000} minutes`)));
  request.on('data', (chunk: Buffer) => connection.addUp(chunk.length));
  pipeline(request, outgoing, () => undefined);

  outgoing.once('response', (upstream) => {
    const status = upstream.statusCode ?? 502;
    const answer = writeHead(response, status, options.answer(upstream));
    if ('why' in answer) {
      upstream.destroy();
      connection.end('failed', `${label} ${status}: ${answer.why}`);
      refuseRequest(response, answer.status, `caisson: ${destination.name} ${answer.why}`);
      return;
    }
    upstream.on('data', (chunk: Buffer) => {
      connection.addDown(chunk.length);
      options.reach?.connected();
    });
    response.flushHeaders();
    pipeline([upstream, ...answer.through, response], (error) => {
      connection.end(error ? 'failed' : 'allowed', `${label} ${status}${error ? `: ${error.message}` : ''}`);
    });
  });
  outgoing.on('error', (error: Error) => {
    const isRefused = error instanceof PrivateAddressError;
    const hasClientLeft = request.socket.destroyed;
    if (!isConnected && !hasClientLeft) options.reach?.unreached(error.message);
    connection.end(isRefused ? 'denied' : 'failed', `${label}: ${error.message}`);
    const message = `caisson: ${destination.name} could not be reached: ${error.message}`;
    refuseRequest(response, isRefused ? 403 : 502, message);
  });
  // Nobody asked for another protocol; without a listener the client would wait for ever.
  outgoing.once('upgrade', (_upstream, socket) => {
    socket.destroy();
    outgoing.emit('error', new Error('it switched protocols, and nobody asked for that'));
  });
  response.once('close', () => {
    if (!response.writableFinished) outgoing.destroy(new Error('the client disconnected'));
  });
}

/** A server may send a head that no answer of ours can have, such as status 099. */
function writeHead(
  response: ServerResponse,
  status: number,
  answer: HandedOn | NotHandedOn,
): HandedOn | NotHandedOn {
  if ('why' in answer) return answer;
  try {
    // Without the server's text beside the status: clients do not need it, and a key could be in it.
    response.writeHead(status, answer.headers);
    return answer;
  } catch (error) {
    return { status: 502, why: `answered with a head that cannot be passed on: ${(error as Error).message}` };
  }
}
