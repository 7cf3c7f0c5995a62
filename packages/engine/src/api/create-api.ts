/** The routes of a host: every operation under `/v1`, beside `dispatch` and the streams of callers. */
import type { RequestListener } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono, type Context } from 'hono';
import { ApiInputs, definedOnly, isRecord, type EventEnvelope } from '@caisson/protocol';
import type * as z from 'zod/mini';
import type { RunHandle } from '../admission/index.ts';
import type { Attachments } from './attachments.ts';
import { answerBytes } from './answer-bytes.ts';
import type { ApiHost, Entrance } from './contract.ts';
import { OPERATIONS, type Operation, type OperationName } from './operations.ts';
import { InputInvalidError, toProblem } from './problems.ts';
import { encodeEvents, offsetOf, sendEvents, seqOf, sendStream, untilClosed } from './send-stream.ts';

const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** With the request and the response of Node: streams are written there, with its back pressure. */
type Api = Hono<{ Bindings: HttpBindings }>;
type Call = Context<{ Bindings: HttpBindings }>;

/** For `http.createServer`. */
export function createApi(host: ApiHost, attachments: Attachments, entrance: Entrance): RequestListener {
  const door: Door = { host, entrance };
  const api: Api = new Hono();
  api.onError((error, context) => answerProblem(context, error));
  api.notFound((context) =>
    answerProblem(
      context,
      new InputInvalidError(`there is no ${context.req.method} ${context.req.path}`),
      404,
    ),
  );
  api.get('/v1/hello', (context) => context.json(host.introduce(context.req.query('nonce') ?? '')));
  for (const [name, operation] of Object.entries(OPERATIONS))
    api.on(operation.method, [operation.path], async (context) =>
      carryOut(context, door, name as OperationName, operation as Operation<unknown, unknown>),
    );
  api.post('/v1/runs', async (context) => context.json(await dispatch(context, door, attachments), 201));
  if (entrance.caller === undefined) serveAttachments(api, attachments);
  const listen = getRequestListener((request, bindings) => api.fetch(request, bindings));
  return (incoming, outgoing) => void listen(incoming, outgoing);
}

/** What a plain command prints and reads, for a caller on the socket. */
function serveAttachments(api: Api, attachments: Attachments): void {
  api.get('/v1/attachments/:attachment/output', async (context) => {
    const output = attachments.output(context.req.param('attachment'));
    if (output === null) return context.body(null, 404);
    await sendStream(context.env.outgoing, 'application/octet-stream', output);
    return RESPONSE_ALREADY_SENT;
  });
  api.post('/v1/attachments/:attachment/input', async (context) => {
    const isTaken = await attachments.feed(context.req.param('attachment'), context.env.incoming);
    return context.body(null, isTaken ? 204 : 404);
  });
}

interface Door {
  readonly host: ApiHost;
  readonly entrance: Entrance;
}

async function carryOut(
  context: Call,
  door: Door,
  name: OperationName,
  { input, answer, run }: Operation<unknown, unknown>,
): Promise<Response> {
  const { outgoing } = context.env;
  const given = await readInput(context, input(), door, name);
  const result = run(door.host, given, untilClosed(outgoing));
  if (answer === 'events') {
    const events = result as AsyncIterable<EventEnvelope>;
    const idOf = name === 'followAll' ? offsetOf : seqOf;
    await sendEvents(outgoing, encodeEvents(events, idOf));
    return RESPONSE_ALREADY_SENT;
  }
  if (answer === 'chunks') {
    await sendStream(outgoing, 'application/octet-stream', result as AsyncIterable<Buffer>);
    return RESPONSE_ALREADY_SENT;
  }
  const value = await result;
  if (answer === 'bytes') return answerBytes(context.req, value as Buffer);
  return context.json(value ?? null);
}

async function dispatch(
  context: Call,
  door: Door,
  attachments: Attachments,
): Promise<{ runId: string; isEarlier?: boolean; attachment?: string }> {
  const given = await readInput(context, ApiInputs.dispatch, door, 'dispatch');
  const { caller, attach } = given;
  const idempotencyKey = context.req.header('idempotency-key');
  const request = { ...definedOnly({ idempotencyKey }), ...given.request };
  const caisson = await door.host.forCaller(caller);
  if (attach === undefined) {
    const run = describe(await caisson.dispatch(request));
    await door.entrance.started(context.env.incoming, run);
    return run;
  }
  const { id, attachment } = attachments.open(attach);
  try {
    const handle = await caisson.dispatch(request, attachment);
    void handle.ended.catch(() => undefined).finally(() => attachments.end(id));
    return { ...describe(handle), attachment: id };
  } catch (error) {
    attachments.end(id);
    throw error;
  }
}

function describe({ runId, isEarlier }: RunHandle): { runId: string; isEarlier?: boolean } {
  return { runId, ...definedOnly({ isEarlier }) };
}

/** Members of the path, of the query and of the body are one input. */
async function readInput<S extends z.ZodMiniType>(
  context: Call,
  schema: S,
  { entrance }: Door,
  name: OperationName,
): Promise<z.infer<S>> {
  const lastEventId = context.req.header('last-event-id');
  const after = STREAMS.has(name) && lastEventId !== undefined ? { after: lastEventId } : {};
  const sent = { ...after, ...context.req.query(), ...(await readBody(context)), ...context.req.param() };
  const { caller } = entrance;
  const given = caller === undefined ? sent : asVisitor(sent, schema, caller);
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw new InputInvalidError(explain(parsed.error.issues[0]));
  await entrance.admit(context.env.incoming, name, parsed.data as Record<string, unknown>);
  return parsed.data;
}

/** Those that begin after the last event that a reader has seen. */
const STREAMS: ReadonlySet<OperationName> = new Set(['follow', 'followAll']);

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
  if (Number(context.req.header('content-length') ?? 0) > MAX_BODY_BYTES)
    throw new InputInvalidError(`a body has at most ${MAX_BODY_BYTES} bytes`);
  const text = await context.req.text();
  if (text === '') return {};
  const body = parseJson(text);
  if (isRecord(body)) return body;
  throw new InputInvalidError('the body must be a JSON object');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InputInvalidError('the body is not JSON');
  }
}

function answerProblem(context: Context, error: unknown, status?: number): Response {
  const problem = { ...toProblem(error), ...definedOnly({ status }) };
  return context.body(JSON.stringify(problem), problem.status as 400, {
    'content-type': 'application/problem+json',
  });
}
