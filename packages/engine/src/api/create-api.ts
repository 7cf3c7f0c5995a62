/** The routes of a host: every operation under `/v1`, beside `dispatch` and the streams of callers. */
import { createHash } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { ApiInputs, definedOnly, type EventEnvelope } from '@caisson/protocol';
import type { RunHandle } from '../admission/index.ts';
import type { Attachments } from './attachments.ts';
import { answerBytes, matchesTag } from './answer-bytes.ts';
import { answerPage } from './answer-page.ts';
import { answerOnce, readKey } from './answer-once.ts';
import type { ApiHost, Entrance, NamedBytes } from './contract.ts';
import { OPERATIONS, type Operation, type OperationName } from './operations.ts';
import { readInput, type Call } from './read-input.ts';
import { encodeEvents, offsetOf, sendEvents, seqOf } from './send-events.ts';
import { sendStream, untilClosed } from './send-stream.ts';
import { withProblems } from './with-problems.ts';

type Api = Hono<{ Bindings: HttpBindings }>;

/** For `http.createServer`. */
export function createApi(host: ApiHost, attachments: Attachments, entrance: Entrance): RequestListener {
  const door: Door = { host, entrance };
  const api: Api = withProblems(new Hono());
  api.get('/v1/hello', (context) => context.json(host.introduce(context.req.query('nonce') ?? '')));
  api.get('/v1/openapi.json', async (context) =>
    context.body(await host.readDescription(), 200, { 'content-type': 'application/json' }),
  );
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
    await sendStream(context.env.outgoing, 'application/octet-stream', output);
    return RESPONSE_ALREADY_SENT;
  });
  api.post('/v1/attachments/:attachment/input', async (context) => {
    await attachments.feed(context.req.param('attachment'), context.env.incoming);
    return context.body(null, 204);
  });
}

const STREAM_TYPES: Readonly<Partial<Record<Operation<never, unknown>['answer'], string>>> & {
  chunks: string;
} = {
  events: 'text/event-stream',
  chunks: 'application/octet-stream',
};

interface Door {
  readonly host: ApiHost;
  readonly entrance: Entrance;
}

async function carryOut(
  context: Call,
  door: Door,
  name: OperationName,
  operation: Operation<unknown, unknown>,
): Promise<Response> {
  const { outgoing } = context.env;
  const { input, answer, page, run } = operation;
  const given = withOwnKey(context, door, name, await readInput(context, input(), door.entrance, name));
  const type = STREAM_TYPES[answer];
  if (type !== undefined && context.req.method === 'HEAD')
    return context.body(null, 200, { 'content-type': type });
  const signal = untilClosed(outgoing);
  if (page !== undefined)
    return answerPage(
      context,
      page,
      given as object,
      (part) => run(door.host, part, signal) as Promise<unknown[]>,
    );
  if (answer === 'json')
    return answerJson(
      context,
      await answerOnce(context, door, name, given as object, () =>
        doRecorded(context, door, name, given as Given, () => run(door.host, given, signal)),
      ),
      operation,
    );
  await door.entrance.record(context.env.incoming, name, given as Given); // a stream can change something, too
  const result = run(door.host, given, signal);
  if (answer === 'events') {
    const events = result as AsyncIterable<EventEnvelope>;
    const idOf = name === 'followAll' ? offsetOf : seqOf;
    await sendEvents(outgoing, encodeEvents(events, idOf));
    return RESPONSE_ALREADY_SENT;
  }
  if (answer === 'chunks') {
    await sendStream(outgoing, STREAM_TYPES.chunks, result as AsyncIterable<Buffer>);
    return RESPONSE_ALREADY_SENT;
  }
  return answerBytes(context, (await result) as NamedBytes);
}

type Given = Readonly<Record<string, unknown>>;

/** A key in a body belongs to its caller, too: that of a schedule or signal is never another one's. */
function withOwnKey(context: Call, { entrance }: Door, name: OperationName, given: unknown): unknown {
  const { idempotencyKey: named } = given as Given;
  if (name !== 'startThread' || typeof named !== 'string') return given;
  return { ...(given as Given), idempotencyKey: readKey(context, entrance, named) };
}

/** An answer can start a run, too. */
async function doRecorded(
  { env }: Call,
  { entrance }: Door,
  name: OperationName,
  given: Given,
  work: () => unknown,
): Promise<unknown> {
  await entrance.record(env.incoming, name, given);
  const done = await work();
  const { runId } = name === 'answer' ? (done as { runId: string | null }) : { runId: null };
  if (runId !== null) await entrance.started(env.incoming, { runId });
  return done;
}

function answerJson(context: Call, value: unknown, { isTagged }: Operation<unknown, unknown>): Response {
  if (isTagged?.(value) !== true) return context.json(value ?? null);
  const text = JSON.stringify(value);
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  if (matchesTag(context.req.header('if-none-match'), etag)) return context.body(null, 304, { etag });
  return context.body(text, 200, { etag, 'content-type': 'application/json' });
}

async function dispatch(
  context: Call,
  door: Door,
  attachments: Attachments,
): Promise<{ runId: string; isEarlier?: boolean; attachment?: string }> {
  const given = await readInput(context, ApiInputs.dispatch, door.entrance, 'dispatch');
  const { caller, attach } = given;
  const { idempotencyKey: named } = given.request;
  const idempotencyKey = readKey(context, door.entrance, typeof named === 'string' ? named : undefined);
  const bounds = door.entrance.boundsOf?.(context.env.incoming);
  const request = { ...given.request, ...bounds, ...definedOnly({ idempotencyKey }) };
  const caisson = await door.host.forCaller(caller);
  await door.entrance.record(context.env.incoming, 'dispatch', { request });
  const started = async (handle: RunHandle) => {
    const run = describe(handle);
    await door.entrance.started(context.env.incoming, run);
    return run;
  };
  if (attach === undefined) return started(await caisson.dispatch(request));
  const { id, attachment } = attachments.open(attach);
  try {
    const handle = await caisson.dispatch(request, attachment);
    void handle.ended.catch(() => undefined).finally(() => attachments.end(id));
    const run = await started(handle);
    attachments.expectReader(id); // after what may take long: its caller has no answer before
    return { ...run, attachment: id };
  } catch (error) {
    attachments.drop(id);
    throw error;
  }
}

function describe({ runId, isEarlier }: RunHandle): { runId: string; isEarlier?: boolean } {
  return { runId, ...definedOnly({ isEarlier }) };
}
