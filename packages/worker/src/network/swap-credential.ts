/** N2: replaces the placeholder with the real key, in the very place where the client put it; nothing else changes. */
import type { OutgoingHttpHeaders } from 'node:http';

export interface CredentialSwap {
  readonly placeholder: string;
  /** `null`: the server needs no key, so the placeholder is removed. */
  readonly apiKey: string | null;
  /** Headers in which clients of this service send their key. */
  readonly headers: readonly string[];
  /** Whether `?key=` is such a place as well. */
  readonly inQuery: boolean;
  /** The client's own credential is passed on as it is. */
  readonly passesToken?: boolean;
}

export interface Outgoing {
  readonly headers: OutgoingHttpHeaders;
  readonly path: string;
}

/**
 * The headers in which model clients send a key. Any of them may be used; those without the placeholder are not
 * forwarded.
 */
export const MODEL_KEY_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key'] as const;

/** The request with the real key in it, or null when it did not have the placeholder. */
export function swapCredential(outgoing: Outgoing, swap: CredentialSwap): Outgoing | null {
  const headers = { ...outgoing.headers };
  delete headers['cookie'];
  if (swap.passesToken === true) return { headers, path: outgoing.path };
  let found = 0;
  for (const name of swap.headers) {
    const value = headers[name];
    delete headers[name];
    if (typeof value !== 'string') continue;
    const [, scheme = '', key = ''] = /^(Bearer +)?(.*)$/i.exec(value.trim()) ?? [];
    if (key !== swap.placeholder) continue;
    found += 1;
    if (swap.apiKey !== null) headers[name] = `${scheme}${swap.apiKey}`;
  }
  const query = swap.inQuery ? swapInQuery(outgoing.path, swap) : { path: outgoing.path, found: 0 };
  return found + query.found === 0 ? null : { headers, path: query.path };
}

function swapInQuery(path: string, swap: CredentialSwap): { path: string; found: number } {
  const at = path.indexOf('?');
  if (at === -1) return { path, found: 0 };
  let found = 0;
  const pairs = path
    .slice(at + 1)
    .split('&')
    .flatMap((pair) => {
      if (!pair.startsWith('key=')) return [pair];
      if (pair.slice(4) !== swap.placeholder) return [];
      found += 1;
      return swap.apiKey === null ? [] : [`key=${encodeURIComponent(swap.apiKey)}`];
    });
  return { path: `${path.slice(0, at)}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`, found };
}
