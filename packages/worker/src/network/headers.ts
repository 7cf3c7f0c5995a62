/** Which headers of a message are forwarded. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Headers without those that concern one connection only, among them the ones that `Connection` names. */
export function endToEndHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const kept: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !HOP_BY_HOP.has(name) && !named.includes(name)) kept[name] = value;
  return kept;
}

const LONGEST_WAIT_MS = 60_000;

/**
 * Removes a `retry-after` of more than a minute. Some programs would sleep until the run's time is over, without a
 * message; without it they give up, and the run ends with its real cause.
 */
export function dropLongWait(headers: OutgoingHttpHeaders, nowMs = Date.now()): void {
  const text = String(headers['retry-after'] ?? '');
  const seconds = Number(text);
  const waitMs = Number.isNaN(seconds) ? Date.parse(text) - nowMs : seconds * 1000;
  if (waitMs > LONGEST_WAIT_MS) delete headers['retry-after'];
  if (Number(headers['retry-after-ms']) > LONGEST_WAIT_MS) delete headers['retry-after-ms'];
}

/** Headers that make some servers use another method or path than the request has. */
const OVERRIDING =
  /^x-(?:http-method(?:-override)?|method-override|original-(?:url|uri|method)|rewrite-url)$/;

/** The server must read what was judged: no header may change the method or the path. */
export function dropOverrides(headers: OutgoingHttpHeaders): void {
  for (const name of Object.keys(headers)) if (OVERRIDING.test(name.toLowerCase())) delete headers[name];
}

/**
 * The same for a forwarded request: its body keeps its framing, its Host is the server's. `Connection: content-length`
 * must not remove the framing: the next server would read the body as a second request.
 */
export function requestHeaders(headers: IncomingHttpHeaders, host: string): OutgoingHttpHeaders {
  const { 'content-length': _length, ...kept } = endToEndHeaders(headers);
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  if (encoding !== undefined) return { ...kept, host, 'transfer-encoding': 'chunked' };
  return length === undefined ? { ...kept, host } : { ...kept, host, 'content-length': length };
}
