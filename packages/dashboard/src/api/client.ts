/** The one way to the host. Every request has the token; every error has the host's words. */
import { toProblemError } from './problem.ts';
import { gatherPages, readPages, type Listed } from './read-pages.ts';
import { parseSession, type Session } from './session.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Client {
  get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T>;
  /** A list, page by page: `Link` names the next one. */
  pages<T>(path: string, query?: Query, signal?: AbortSignal): AsyncGenerator<readonly T[], void, void>;
  /** A list as one, up to `MAX_LISTED` rows. */
  list<T>(path: string, query?: Query, signal?: AbortSignal): Promise<Listed<T>>;
  send<T>(method: 'POST' | 'DELETE', path: string, body?: object): Promise<T>;
  /** A body that is read piece by piece. */
  open(path: string, query?: Query, signal?: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  /** Exchanges the token for a new one; the old one ends at once. */
  rotate(): Promise<Session>;
}

const CHANGES = { 'content-type': 'application/json', 'caisson-client': 'dashboard' };

export function createClient(first: string, onSignedOut: () => void): Client {
  let token = first;
  let rotation: Promise<unknown> = Promise.resolve();
  const ask = (path: string, init: RequestInit): Promise<Response> => {
    const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${token}` };
    return fetch(path, { ...init, headers, cache: 'no-store' });
  };
  const request = async (path: string, init: RequestInit): Promise<Response> => {
    await rotation;
    const used = token;
    let response = await ask(path, init);
    if (response.status === 401) {
      await rotation; // it may have overtaken this request
      if (token !== used) response = await ask(path, init);
    }
    if (response.status === 401) onSignedOut();
    if (!response.ok) throw toProblemError(response.status, await response.text());
    return response;
  };
  const rotateNow = async (): Promise<Session> => {
    const response = await ask('/v1/session/rotation', { method: 'POST', headers: CHANGES, body: '{}' });
    const text = await response.text();
    const session = response.ok ? parseSession(text) : null;
    if (session === null) throw toProblemError(response.status, text);
    token = session.token;
    return session;
  };
  const read = (path: string, signal?: AbortSignal) =>
    request(path, { headers: {}, ...definedSignal(signal) });
  const pages = <T>(path: string, query?: Query, signal?: AbortSignal) =>
    readPages<T>((each) => read(each, signal), withQuery(path, query));
  return {
    pages,
    list: (path, query, signal) => gatherPages(pages(path, query, signal)),
    rotate() {
      const next = rotateNow();
      rotation = next.catch(() => undefined);
      return next;
    },
    get: async (path, query, signal) => readJson(await read(withQuery(path, query), signal)),
    send: async (method, path, body = {}) =>
      readJson(await request(path, { method, headers: CHANGES, body: JSON.stringify(body) })),
    open: async (path, query, signal) => {
      const response = await read(withQuery(path, query), signal);
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
