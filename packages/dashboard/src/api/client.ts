/** The one way to the host. Every request has the token; every error has the host's words. */
import { toProblemError } from './problem.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Client {
  get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T>;
  send<T>(method: 'POST' | 'DELETE', path: string, body?: object): Promise<T>;
  /** A body that is read piece by piece. */
  open(path: string, query?: Query, signal?: AbortSignal): Promise<ReadableStream<Uint8Array>>;
}

export function createClient(token: string, onSignedOut: () => void): Client {
  const request = async (path: string, init: RequestInit): Promise<Response> => {
    const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${token}` };
    const response = await fetch(path, { ...init, headers, cache: 'no-store' });
    if (response.status === 401) onSignedOut();
    if (!response.ok) throw toProblemError(response.status, await response.text());
    return response;
  };
  return {
    get: async (path, query, signal) =>
      readJson(await request(withQuery(path, query), { headers: {}, ...definedSignal(signal) })),
    send: async (method, path, body = {}) =>
      readJson(
        await request(path, {
          method,
          headers: { 'content-type': 'application/json', 'caisson-client': 'dashboard' },
          body: JSON.stringify(body),
        }),
      ),
    open: async (path, query, signal) => {
      const response = await request(withQuery(path, query), { headers: {}, ...definedSignal(signal) });
      return response.body ?? new ReadableStream({ start: (controller) => controller.close() });
    },
  };
}

/** The page and its host are of one version, so the types are those of the host's contract. */
async function readJson<T>(response: Response): Promise<T> {
  const text = await response.text();
  return (text === '' ? null : JSON.parse(text)) as T;
}

function definedSignal(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

export function withQuery(path: string, query: Query = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  if (pairs.length === 0) return path;
  return `${path}?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString()}`;
}
