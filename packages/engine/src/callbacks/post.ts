/** One POST: limited in time, follows no redirect, and reads only the status of the answer. */
import type { IncomingMessage, RequestOptions } from 'node:http';

export type PostOutcome =
  | { readonly kind: 'taken'; readonly status: number }
  /** `isFinal`: trying again would change nothing. */
  | { readonly kind: 'refused'; readonly detail: string; readonly isFinal: boolean }
  /** We stopped it ourselves; that says nothing about the endpoint. */
  | { readonly kind: 'cut' };

/** Answers that may be different next time, although they are client errors. */
const PASSING = new Set([408, 425, 429]);

export async function post(options: {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}): Promise<PostOutcome> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  try {
    const status = await send(options, AbortSignal.any([timeout, options.signal]));
    if (status >= 200 && status < 300) return { kind: 'taken', status };
    const isFinal = status < 500 && !PASSING.has(status);
    const detail =
      status >= 300 && status < 400
        ? `answered ${status}, and redirects are not followed`
        : `answered ${status}`;
    return { kind: 'refused', detail, isFinal };
  } catch (error) {
    if (options.signal.aborted) return { kind: 'cut' };
    const detail = timeout.aborted
      ? `did not answer within ${options.timeoutMs} ms`
      : ((error as NodeJS.ErrnoException).code ?? (error as Error).message);
    return { kind: 'refused', detail, isFinal: false };
  }
}

async function send(
  options: { url: string; headers: Readonly<Record<string, string>>; body: string },
  signal: AbortSignal,
): Promise<number> {
  const url = new URL(options.url);
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http');
  const how: RequestOptions = {
    method: 'POST',
    headers: { ...options.headers, 'content-length': String(Buffer.byteLength(options.body)) },
    agent: false,
    signal,
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, how, (response: IncomingMessage) => {
      resolve(response.statusCode ?? 0);
      response.destroy();
    });
    outgoing.on('error', reject);
    outgoing.end(options.body);
  });
}
