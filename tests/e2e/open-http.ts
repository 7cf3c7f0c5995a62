/** The HTTP face of a project's daemon, as a program with a token uses it. */
import { once } from 'node:events';
import { get, request, type Agent, type IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { WireEvent } from '@caisson/protocol';
import { onTestFinished } from 'vitest';
import type { Project } from './project.ts';

export interface HttpFace {
  readonly url: string;
  readonly link: string;
  readonly token: string;
  get<T>(path: string, agent?: Agent): Promise<T>;
  post<T>(path: string, body: object): Promise<T>;
  /** The answer of a stream of events, of which nothing is read yet. */
  open(path: string): Promise<IncomingMessage>;
}

/** Starts a daemon where none is; both end with the test. */
export async function openHttp(project: Project, scopes: string): Promise<HttpFace> {
  const ask = async (...args: string[]): Promise<Record<string, string>> => {
    const { stdout, stderr } = await project.caisson(...args, '-o', 'json');
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout) as Record<string, string>;
  };
  const { url = '', link = '' } = await ask('ui', '--no-open');
  onTestFinished(async () => void (await project.caisson('down', '--now')));
  const { token = '' } = await ask('tokens', 'create', 'test', '--scope', scopes);
  const headers = { authorization: `Bearer ${token}` };
  return {
    url,
    link,
    token,
    async get(path, agent) {
      const asked = get(new URL(path, url), { headers, ...(agent === undefined ? {} : { agent }) });
      return (await readJson(asked)) as never;
    },
    async post(path, body) {
      const sent = { ...headers, 'content-type': 'application/json', 'caisson-client': 'test' };
      const asked = request(new URL(path, url), { method: 'POST', headers: sent });
      asked.end(JSON.stringify(body));
      return (await readJson(asked)) as never;
    },
    async open(path) {
      const [stream] = (await once(get(new URL(path, url), { headers, agent: false }), 'response')) as [
        IncomingMessage,
      ];
      onTestFinished(() => void stream.destroy());
      return stream;
    },
  };
}

async function readJson(asked: ReturnType<typeof get>): Promise<unknown> {
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  if ((response.statusCode ?? 0) >= 400) throw new Error(`${asked.path}: ${response.statusCode} ${text}`);
  return JSON.parse(text);
}

/** Every event of a stream, until one of this type, or until `signal` aborts. */
export async function readEventsTo(
  stream: Readable,
  type: string | null,
  signal?: AbortSignal,
): Promise<WireEvent[]> {
  const events: WireEvent[] = [];
  let rest = '';
  signal?.addEventListener('abort', () => stream.destroy());
  try {
    for await (const chunk of stream.setEncoding('utf8')) {
      const records = (rest + String(chunk)).split('\n\n');
      rest = records.pop() ?? '';
      for (const record of records) {
        const line = /^data: (.*)$/m.exec(record)?.[1];
        if (line !== undefined && !record.startsWith('event: ')) events.push(JSON.parse(line) as WireEvent);
      }
      if (type !== null && events.some((event) => event.type === type)) return events;
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
  return events;
}
