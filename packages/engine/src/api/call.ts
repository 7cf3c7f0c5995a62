/** Calls of the operations over a connection. */
import { parseEnvelope, type EventEnvelope } from '@caisson/protocol';
import type { Connection, ConnectionAnswer } from './contract.ts';
import type { PageRule } from './define-operation.ts';
import type { Operation } from './operations.ts';
import { DaemonGoneError, toThrown } from './problems.ts';

/** Asked of `run` alone: an operation with an input is no `Operation<never, …>`. */
export type Result<O> = O extends { run(...given: never[]): infer Out } ? Awaited<Out> : never;
export type InputOf<O> = O extends Operation<infer In, unknown> ? In : never;

/** An operation that answers with JSON. */
export async function call<In, Out>(
  connection: Connection,
  operation: Operation<In, Out>,
  input: Loose<In>,
  signal?: AbortSignal,
): Promise<Awaited<Out>> {
  return JSON.parse(
    (await readAll(await ask(connection, operation, input, signal))).toString('utf8'),
  ) as Awaited<Out>;
}

/** A list, page by page: its caller gets as much of it as it asks for. */
export async function callForAll<In extends { limit?: number | undefined }, Row>(
  connection: Connection,
  operation: Operation<In, Promise<readonly Row[]>>,
  input: Loose<In>,
): Promise<readonly Row[]> {
  const { limit = Infinity } = input;
  const { cursorOf, maxRows } = operation.page as PageRule;
  const rows: Row[] = [];
  for (let after = {}; ;) {
    const part = { ...input, ...after, limit: Math.min(limit - rows.length, maxRows) };
    const answer = await ask(connection, operation, part);
    rows.push(...(JSON.parse((await readAll(answer)).toString('utf8')) as Row[]));
    const last = rows.at(-1);
    if (last === undefined || rows.length >= limit || !answer.headers.has('link')) return rows;
    after = { after: cursorOf(last as never) };
  }
}

/** What an input may be here: absent members may also be undefined. */
export type Loose<In> = { readonly [K in keyof In]: In[K] | undefined };

export async function callForBytes<In>(
  connection: Connection,
  operation: Operation<In, unknown>,
  input: Loose<In>,
): Promise<Buffer> {
  return readAll(await ask(connection, operation, input));
}

export async function* callForChunks<In>(
  connection: Connection,
  operation: Operation<In, unknown>,
  input: Loose<In>,
  signal?: AbortSignal,
): AsyncGenerator<Buffer, void, void> {
  yield* (await ask(connection, operation, input, signal)).body;
}

export async function* callForEvents<In>(
  connection: Connection,
  operation: Operation<In, unknown>,
  input: Loose<In>,
  signal?: AbortSignal,
): AsyncGenerator<EventEnvelope, void, void> {
  const left = new AbortController();
  const either = signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]);
  try {
    const { body } = await ask(connection, operation, input, either);
    for await (const { event, data } of readServerSent(body)) {
      if (event === 'end') return;
      if (event === 'problem') throw toThrown(JSON.parse(data));
      yield parseEnvelope(JSON.parse(data));
    }
    if (!either.aborted)
      throw new DaemonGoneError('the daemon went away while its events were read', undefined);
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  } finally {
    left.abort(); // a reader that stops early leaves no connection
  }
}

async function ask<In>(
  connection: Connection,
  { method, path, answer: kind, isPatient = kind === 'events' || kind === 'chunks' }: Operation<In, unknown>,
  input: Loose<In>,
  signal?: AbortSignal,
): Promise<ConnectionAnswer> {
  const rest: Record<string, unknown> = { ...input };
  const filled = path.replace(/:(\w+)(?:\{[^}]*\})?/g, (_whole, name: string) => {
    const value = String(rest[name]);
    delete rest[name];
    return encodeURIComponent(value);
  });
  const isBody = method === 'POST';
  const answer = await connection.request({
    method,
    path: isBody ? filled : `${filled}${toQuery(rest)}`,
    ...(isBody ? { body: JSON.stringify(rest) } : {}),
    signal,
    isPatient,
  });
  if (answer.status < 400) return answer;
  throw toThrown(parseProblem(await readAll(answer)));
}

function toQuery(values: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, toText(value));
  return query.size === 0 ? '' : `?${query.toString()}`;
}

/** As `api-schemas.ts` reads it again. */
function toText(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function parseProblem(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return body.toString('utf8');
  }
}

export async function readAll({ body }: ConnectionAnswer): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}

/** The events of a text/event-stream, as far as we write it: one line of data each. */
async function* readServerSent(
  body: AsyncIterable<Buffer>,
): AsyncGenerator<{ readonly event: string; readonly data: string }, void, void> {
  const decoder = new TextDecoder();
  let waiting = '';
  for await (const chunk of body) {
    const blocks = (waiting + decoder.decode(chunk, { stream: true })).split('\n\n');
    waiting = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map(splitField));
      const data = fields.get('data');
      if (data !== undefined) yield { event: fields.get('event') ?? 'message', data };
    }
  }
}

function splitField(line: string): [string, string] {
  const colon = line.indexOf(': ');
  return [line.slice(0, colon), line.slice(colon + 2)];
}
