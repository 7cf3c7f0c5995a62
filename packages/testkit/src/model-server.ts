// A scripted model that speaks four wire formats, chosen by the request's path. It records its requests, and the usage
// of answers that were sent completely, so that a test can compare with the client's report.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { addUsage, NO_USAGE, type CountedUsage } from './answer.ts';
import type { WireApi } from './conversation.ts';
import { readBody } from './read-body.ts';
import { readScript } from './read-script.ts';
import { createReplies, type Replies } from './reply.ts';
import { findRoute } from './route.ts';
import type { ScriptInput } from './script.ts';

export interface ModelServerOptions {
  readonly script: ScriptInput;
  /** Which formats are answered; others are 404. Default: all. */
  readonly apis?: readonly WireApi[];
  /** When set, a request without exactly this key is a 401. */
  readonly apiKey?: string;
  /** A TCP port on loopback; default: any free one. */
  readonly port?: number;
  /** A UNIX socket instead of a port. */
  readonly socketPath?: string;
}

/** One request as it came, headers included. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON, or the text if it is not JSON. */
  readonly body: unknown;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly api: WireApi | null;
}

export interface ModelServer {
  /** `http://127.0.0.1:PORT`, or `unix:PATH`. OpenAI clients need `/v1` after it. */
  readonly url: string;
  /** 0 on a UNIX socket. */
  readonly port: number;
  readonly requests: readonly RecordedRequest[];
  /** Tokens of every answer that was sent to its end. */
  usage(): CountedUsage;
  /** Requests to a model, whatever their outcome. */
  modelRequests(): readonly RecordedRequest[];
  /** Resolves with the first request, past or future, that matches. */
  waitForRequest(
    matches: (request: RecordedRequest) => boolean,
    signal?: AbortSignal,
  ): Promise<RecordedRequest>;
  /** Ends every connection; resolves when the port is free. Idempotent. */
  stop(): Promise<void>;
}

interface Waiter {
  matches(request: RecordedRequest): boolean;
  resolve(request: RecordedRequest): void;
}

/** Starts a scripted model server. An invalid script throws: a fault that never happens would prove nothing. */
export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  const waiters = new Set<Waiter>();
  let total = NO_USAGE;
  const replies = createReplies(readScript(options.script), (usage) => {
    total = addUsage(total, usage);
  });
  const record = (request: RecordedRequest) => {
    requests.push(request);
    for (const waiter of waiters) if (waiter.matches(request)) waiter.resolve(request);
  };
  const server = createServer((request, response) => {
    void answer(request, response, options, replies, record).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  const port = await listen(server, options);
  let stopped: Promise<void> | null = null;
  return {
    url: options.socketPath === undefined ? `http://127.0.0.1:${port}` : `unix:${options.socketPath}`,
    port,
    requests,
    usage: () => total,
    modelRequests: () => requests.filter((request) => findRoute(request.path)?.kind === 'answer'),
    waitForRequest: (matches, signal) => waitFor(requests, waiters, matches, signal),
    stop: () => (stopped ??= close(server)),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: ModelServerOptions,
  replies: Replies,
  record: (request: RecordedRequest) => void,
): Promise<void> {
  const path = request.url ?? '/';
  const route = findRoute(path);
  const body = await readBody(request);
  record({
    method: request.method ?? 'GET',
    path,
    headers: request.headers,
    body: body.json ?? body.text,
    at: Date.now(),
    api: route?.api ?? null,
  });
  const isServed = route !== null && (options.apis === undefined || options.apis.includes(route.api));
  if (!isServed) return replies.unknown(response, request.method ?? 'GET', path);
  if (options.apiKey !== undefined && keyOf(request) !== options.apiKey)
    return replies.error(response, route, '401');
  if (body.json === null) return replies.error(response, route, 'bad-request', 'the body is not JSON');
  if (route.kind === 'count') return replies.count(response, route, body.text.length);
  return replies.answer(response, route, { json: body.json, bytes: body.text.length, path });
}

function keyOf(request: IncomingMessage): string | undefined {
  const headers = request.headers;
  const direct = headers['x-api-key'] ?? headers['x-goog-api-key'];
  if (typeof direct === 'string') return direct;
  const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  return bearer ?? new URL(request.url ?? '/', 'http://localhost').searchParams.get('key') ?? undefined;
}

function listen(server: Server, options: ModelServerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const ready = () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    };
    if (options.socketPath === undefined) server.listen(options.port ?? 0, '127.0.0.1', ready);
    else server.listen(options.socketPath, ready);
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function waitFor(
  requests: readonly RecordedRequest[],
  waiters: Set<Waiter>,
  matches: (request: RecordedRequest) => boolean,
  signal?: AbortSignal,
): Promise<RecordedRequest> {
  const known = requests.find(matches);
  if (known !== undefined) return Promise.resolve(known);
  return new Promise((resolve, reject) => {
    const abort = () => {
      waiters.delete(waiter);
      reject(new Error(`no such request among ${requests.length}`, { cause: signal?.reason }));
    };
    const waiter: Waiter = {
      matches,
      resolve: (request) => {
        waiters.delete(waiter);
        signal?.removeEventListener('abort', abort);
        resolve(request);
      },
    };
    waiters.add(waiter);
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}
