/** The input of an operation: members of the path, of the query and of the body are one object. */
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { isRecord } from '@caisson/protocol';
import type * as z from 'zod/mini';
import { VisitRefusedError } from '../platform/index.ts';
import type { Entrance } from './contract.ts';
import type { OperationName } from './operations.ts';
import { InputInvalidError } from './problems.ts';

const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** With the request and the response of Node: streams are read and written there, with their back pressure. */
export type Call = Context<{ Bindings: HttpBindings }>;

export async function readInput<S extends z.ZodMiniType>(
  context: Call,
  schema: S,
  entrance: Entrance,
  name: OperationName,
): Promise<z.infer<S>> {
  const { incoming } = context.env;
  entrance.admitBody?.(incoming, name);
  const sent = {
    ...context.req.query(),
    ...readLastEvent(context, name),
    ...(await readBody(context)),
    ...context.req.param(),
  };
  const { caller } = entrance;
  const given = caller === undefined ? sent : asVisitor(sent, schema, caller);
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw new InputInvalidError(explain(parsed.error.issues[0]));
  await entrance.admit?.(incoming, name, parsed.data as Record<string, unknown>);
  return parsed.data;
}

/** Those that begin after the last event that a reader has seen. */
const STREAMS: ReadonlySet<OperationName> = new Set(['follow', 'followAll']);

/** A reader that connects again sends its first address, and how far it has come since: that counts. */
function readLastEvent(context: Call, name: OperationName): { readonly after?: string } {
  const after = STREAMS.has(name) ? context.req.header('last-event-id') : undefined;
  return after === undefined || after === '' ? {} : { after };
}

/** A visitor has no folder, variables or streams here: its runs have those of the host. */
function asVisitor(
  sent: Readonly<Record<string, unknown>>,
  schema: z.ZodMiniType,
  caller: NonNullable<Entrance['caller']>,
): Record<string, unknown> {
  const own = ['caller', 'attach'].find((name) => name in sent);
  if (own !== undefined) throw new InputInvalidError(`${own} is only for callers on the socket`);
  const takesCaller = 'caller' in ((schema as unknown as z.ZodMiniObject).shape ?? {});
  return takesCaller ? { ...sent, caller: caller() } : { ...sent };
}

/** The first thing that is wrong, with its name. */
function explain(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'unrecognized_keys') return `the input has no ${issue.keys.join(', ')}`;
  const where = issue?.path.join('.') ?? '';
  return `${where === '' ? 'the input' : where}: ${issue?.message ?? 'is not valid'}`;
}

async function readBody(context: Call): Promise<Record<string, unknown>> {
  if (context.req.method !== 'POST') return {};
  if (Number(context.req.header('content-length') ?? 0) > MAX_BODY_BYTES) throw refuseLongBody();
  const text = await readText(context.env.incoming);
  if (text === '') return {};
  const body = parseJson(text);
  if (isRecord(body)) return body;
  throw new InputInvalidError('the body must be a JSON object');
}

/** A body in chunks does not say how long it is. */
async function readText(incoming: IncomingMessage | Http2ServerRequest): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of incoming.iterator({ destroyOnReturn: false })) {
    size += (part as Buffer).length;
    if (size > MAX_BODY_BYTES) throw refuseLongBody();
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString('utf8');
}

function refuseLongBody(): VisitRefusedError {
  return new VisitRefusedError(413, 'BODY_TOO_LONG', `a body has at most ${MAX_BODY_BYTES} bytes`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InputInvalidError('the body is not JSON');
  }
}
