/** A daemon that listens on TCP, and a program that asks it with a token. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Project } from './project.ts';

export interface Asking {
  /** Another token than its own. */
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
  readonly text: string;
  json<T = Record<string, unknown>>(): T;
}

export interface Visit {
  readonly url: string;
  readonly token: string;
  createToken(scope: string): Promise<string>;
  ask(method: string, path: string, asking?: Asking): Promise<Answer>;
}

/** The daemon is ended by its caller: `caisson down --now`. */
export async function openVisit(project: Project): Promise<Visit> {
  const opened = await project.caisson('ui', '--no-open', '-o', 'json');
  const { url } = JSON.parse(opened.stdout) as { url: string };
  const createToken = async (scope: string): Promise<string> => {
    const made = await project.caisson('tokens', 'create', `for-${scope}`, '--scope', scope, '-o', 'json');
    return (JSON.parse(made.stdout) as { token: string }).token;
  };
  const token = await createToken('admin');
  return {
    url,
    token,
    createToken,
    ask: (method, path, asking = {}) => send(url, method, path, { token, ...asking }),
  };
}

async function send(
  url: string,
  method: string,
  path: string,
  { token, body, headers = {} }: Asking,
): Promise<Answer> {
  const isReading = method === 'GET' || method === 'HEAD';
  const request = httpRequest(new URL(path, url), {
    method,
    agent: false,
    headers: {
      authorization: `Bearer ${token}`,
      ...(isReading ? {} : { 'content-type': 'application/json', 'caisson-client': 'test' }),
      ...headers,
    },
  });
  request.on('error', () => undefined); // an answer may come before all was sent
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  const bytes = Buffer.concat(parts);
  const text = bytes.toString('utf8');
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    bytes,
    text,
    json: <T>() => JSON.parse(text) as T,
  };
}
