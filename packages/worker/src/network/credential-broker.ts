/** Reverse proxy for endpoints whose key the sandbox must not have: the model, and mapped services. */
import { Agent as HttpAgent, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Transform, type Duplex } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { createRedactor, type Clock, type Redactor } from '@caisson/ground';
import type { ConnectionLog } from './connection-log.ts';
import type { Mapping, ModelTarget, ServiceTarget } from './contract.ts';
import type { ModelApi } from '@caisson/protocol';
import { NetworkOpenError } from './errors.ts';
import { exchange, type Destination, type HandedOn, type NotHandedOn } from './exchange.ts';
import { dropLongWait, dropOverrides, endToEndHeaders, requestHeaders } from './headers.ts';
import { findOperation } from './model-operations.ts';
import { plainLineEnds } from './plain-line-ends.ts';
import { createPlaceholder, randomWord } from './placeholder.ts';
import { refuseRequest } from './refuse.ts';
import { confineTarget, joinEndpoint, normalizeTarget, type ReadTarget } from './request-target.ts';
import { createUsageCounter, type CountedRequest, type UsageCounter } from './usage-counter.ts';
import { MODEL_KEY_HEADERS, swapCredential, type CredentialSwap, type Outgoing } from './swap-credential.ts';

const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** One endpoint behind its own path prefix. */
export interface Doorway extends Mapping {
  readonly name: string;
  readonly base: URL;
  readonly swap: CredentialSwap;
  readonly destination: Destination;
  /** Finds the key in answers; null when there is no key. */
  readonly redactor: Redactor | null;
  /** The model behind it; null for a service, whose API the user knows. */
  readonly model: { readonly api: ModelApi; readonly usage: UsageCounter } | null;
}

export function createModelDoorway(
  model: ModelTarget,
  clock: Clock,
  redact?: (text: string) => string,
): Doorway {
  const placeholder = createPlaceholder(model.api);
  const doorway = createDoorway('the model endpoint', model.endpoint, `/m-${randomWord(32)}`, {
    placeholder,
    apiKey: model.apiKey,
    passesToken: model.passesToken ?? false,
    headers: MODEL_KEY_HEADERS,
    inQuery: model.api === 'gemini',
  });
  return { ...doorway, model: { api: model.api, usage: createUsageCounter(clock, redact) } };
}

export function createServiceDoorway(service: ServiceTarget): Doorway {
  return createDoorway(service.name, service.endpoint, `/s-${randomWord(32)}`, {
    placeholder: `caisson-${randomWord(40)}`,
    apiKey: service.apiKey,
    headers: [(service.header ?? 'authorization').toLowerCase()],
    inQuery: false,
  });
}

/** Answers a request whose path has one of the prefixes; anything else is refused. */
export function serveDoorways(
  doorways: readonly Doorway[],
  log: ConnectionLog,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const url = request.url ?? '/';
  const doorway = doorways.find(({ pathPrefix }) => url.startsWith(pathPrefix));
  const rest = doorway === undefined ? '' : url.slice(doorway.pathPrefix.length);
  if (doorway === undefined || !/^([/?]|$)/.test(rest)) {
    log.start('broker', 'unknown path').end('denied', 'the path does not belong to this run');
    refuseRequest(response, 403, 'caisson: this path is unknown; use the base URL of the run');
    return;
  }
  if (doorway.model !== null && request.method === 'HEAD' && /^\/?$/.test(rest)) {
    response.writeHead(200).end(); // a client that tries the connection first reaches the broker, and that is enough
    return;
  }
  const connection = log.start('broker', doorway.base.host);
  const judged = judge(doorway, rest, request);
  if ('detail' in judged) {
    connection.end(judged.verdict, judged.detail);
    refuseRequest(response, judged.status, `caisson: ${judged.detail}`);
    return;
  }
  const { outgoing, recordedPath, counted } = judged;
  if (counted !== null) {
    request.on('data', counted.send);
    request.once('end', counted.sentAll);
    response.once('close', () => counted.closed(response.writableFinished));
  }
  exchange({
    request,
    response,
    connection,
    destination: doorway.destination,
    path: outgoing.path,
    recordedPath,
    headers: outgoing.headers,
    reach: counted,
    answer: (upstream) => cleanAnswer(doorway, counted, request.method === 'HEAD', upstream),
  });
}

interface Refused {
  readonly status: number;
  readonly verdict: 'denied' | 'failed';
  readonly detail: string;
}

interface Allowed {
  readonly outgoing: Outgoing;
  /** Without the query. */
  readonly recordedPath: string;
  /** Null where no model answers. */
  readonly counted: CountedRequest | null;
}

/** N6: the request to forward, or why there is none. `rest` is the target after the doorway's prefix. */
function judge(doorway: Doorway, rest: string, request: IncomingMessage): Allowed | Refused {
  const { base, model, redactor } = doorway;
  const deny = (status: number, detail: string): Refused => ({ status, verdict: 'denied', detail });
  const target: ReadTarget = model === null ? confineTarget(rest) : normalizeTarget(rest);
  if ('problem' in target) return deny(400, target.problem);
  const method = request.method ?? 'GET';
  if (model !== null && /websocket/i.test(request.headers.upgrade ?? ''))
    return { status: 426, verdict: 'failed', detail: 'WebSockets are not forwarded; use HTTP' };
  const joined =
    model === null
      ? { base: base.pathname.replace(/\/+$/, ''), path: target.path }
      : joinEndpoint(base.pathname, target.path);
  const operation = model === null ? null : findOperation(model.api, method, joined.path);
  if (model !== null && operation === null)
    return deny(
      403,
      `${method} ${joined.path} is not a call that a run may make to its model; another part of the provider's API can be mapped with network.services in caisson.yaml`,
    );
  const path = `${joined.base}${joined.path}`;
  const headers = requestHeaders(request.headers, base.host);
  if (model !== null) dropOverrides(headers);
  // A key could hide in a compressed answer, and usage could not be read, so no compression is requested; nor is a
  // partial answer, which may contain too little of the key to find it.
  if (redactor !== null || model !== null) headers['accept-encoding'] = 'identity';
  if (redactor !== null) for (const name of ['range', 'if-range']) delete headers[name];
  const sent = { headers, path: `${path === '' ? '/' : path}${target.query}` };
  const outgoing = swapCredential(sent, doorway.swap);
  if (outgoing === null) return deny(403, "the request does not carry this run's placeholder key");
  const counted = operation?.asksModel === true ? (model?.usage.ask(joined.path) ?? null) : null;
  return { outgoing, recordedPath: path, counted };
}

function createDoorway(name: string, endpoint: string, pathPrefix: string, swap: CredentialSwap): Doorway {
  const base = URL.parse(endpoint);
  if (base === null || !/^https?:$/.test(base.protocol))
    throw new NetworkOpenError(
      `the endpoint "${endpoint}" of ${name} is not an http or https URL; correct it in caisson.yaml`,
    );
  const isSecure = base.protocol === 'https:';
  const port = base.port === '' ? (isSecure ? 443 : 80) : Number(base.port);
  const agent = new (isSecure ? HttpsAgent : HttpAgent)({ keepAlive: true });
  const host = base.hostname.replaceAll(/^\[|\]$/g, '');
  return {
    name,
    base,
    pathPrefix,
    placeholder: swap.placeholder,
    swap,
    model: null,
    redactor: swap.apiKey === null ? null : createRedactor([{ name: 'api-key', value: swap.apiKey }]),
    destination: { isSecure, agent, options: { host, port }, name: `${name} (${base.host})` },
  };
}

function cleanAnswer(
  { redactor, model }: Doorway,
  counted: CountedRequest | null,
  isHead: boolean,
  upstream: IncomingMessage,
): HandedOn | NotHandedOn {
  const headers = endToEndHeaders(upstream.headers);
  delete headers['set-cookie'];
  if (model !== null) dropLongWait(headers);
  if (redactor !== null)
    for (const [name, value] of Object.entries(headers))
      headers[name] = Array.isArray(value)
        ? value.map((one) => redactor.redact(one))
        : redactor.redact(String(value));
  // No agent could follow its model elsewhere, and the path there would lack our prefix. Not a 5xx: those are retried.
  if (model !== null && isRedirect(upstream.statusCode) && headers['location'] !== undefined)
    return {
      status: 400,
      why: `redirects to ${String(headers['location']).slice(0, 500)}, which is not followed; set the final URL as endpoint in caisson.yaml`,
    };
  const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase();
  const decoder = DECODERS[encoding];
  const isReadable = encoding === 'identity' || decoder !== undefined;
  const contentType = String(headers['content-type'] ?? '');
  const reading = counted?.answered(upstream.statusCode ?? 502, contentType, isReadable) ?? null;
  if (isHead) return { headers, through: [] };
  if (!isReadable && redactor !== null)
    return { status: 502, why: `answered in an encoding that cannot be searched for keys (${encoding})` };
  if (!isReadable) return { headers, through: reading === null ? [] : [reading] };
  const readers: Duplex[] = [
    ...(reading === null ? [] : [...(isEventStream(contentType) ? [plainLineEnds()] : []), reading]),
    ...(redactor === null ? [] : [redactingStream(redactor)]),
  ];
  if (readers.length === 0) return { headers, through: [] };
  delete headers['content-length']; // a mark may be longer or shorter than the key, and a body is decoded
  delete headers['content-encoding'];
  return { headers, through: decoder === undefined ? readers : [decoder(), ...readers] };
}

const isEventStream = (contentType: string): boolean => /^text\/event-stream\b/i.test(contentType);

function isRedirect(status = 0): boolean {
  return status > 300 && status < 400 && status !== 304;
}

function redactingStream(redactor: Redactor): Transform {
  const stream = redactor.createStream();
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const certain = stream.push(chunk);
      if (certain.length > 0) this.push(certain);
      done();
    },
    flush(done) {
      const rest = stream.flush();
      if (rest.length > 0) this.push(rest);
      done();
    },
  });
}
