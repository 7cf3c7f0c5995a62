/** The routes of a host: every operation under `/v1`, beside `dispatch` and the streams of callers. */
import type { RequestListener } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono, type Context } from 'hono';
import { ApiInputs, definedOnly, isRecord, type EventEnvelope } from '@caisson/protocol';
import type * as z from 'zod/mini';
import type { RunHandle } from '../admission/index.ts';
import type { Attachments } from './attachments.ts';
import type { ApiHost } from './contract.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { InputInvalidError, toProblem } from './problems.ts';
import { encodeEvents, sendStream, untilClosed } from './send-stream.ts';

const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** With the request and the response of Node: streams are written there, with its back pressure. */
type Api = Hono<{ Bindings: HttpBindings }>;
type Call = Context<{ Bindings: HttpBindings }>;

/** For `http.createServer`. */
export function createApi(host: ApiHost, attachments: Attachments): RequestListener {
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
  for (const operation of Object.values(OPERATIONS))
    api.on(operation.method, [operation.path], async (context) =>
      carryOut(context, host, operation as Operation<unknown, unknown>),
    );
  api.post('/v1/runs', async (context) => context.json(await dispatch(context, host, attachments), 201));
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
  const listen = getRequestListener((request, bindings) => api.fetch(request, bindings));
  return (incoming, outgoing) => void listen(incoming, outgoing);
}

async function carryOut(
  context: Call,
  host: ApiHost,
  { input, answer, run }: Operation<unknown, unknown>,
): Promise<Response> {
  const { outgoing } = context.env;
  const result = run(host, await readInput(context, input()), untilClosed(outgoing));
  if (answer === 'events') {
    await sendStream(outgoing, 'text/event-stream', encodeEvents(result as AsyncIterable<EventEnvelope>));
    return RESPONSE_ALREADY_SENT;
  }
  if (answer === 'chunks') {
    await sendStream(outgoing, 'application/octet-stream', result as AsyncIterable<Buffer>);
    return RESPONSE_ALREADY_SENT;
  }
  const value = await result;
  if (answer === 'bytes') return new Response(new Uint8Array(value as Buffer));
  return context.json(value ?? null);
}

async function dispatch(
  context: Call,
  { forCaller }: ApiHost,
  attachments: Attachments,
): Promise<{ runId: string; isEarlier?: boolean; attachment?: string }> {
  const { request, caller, attach } = await readInput(context, ApiInputs.dispatch);
  const caisson = await forCaller(caller);
  if (attach === undefined) return describe(await caisson.dispatch(request));
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
async function readInput<S extends z.ZodMiniType>(context: Call, schema: S): Promise<z.infer<S>> {
  const given = { ...context.req.query(), ...(await readBody(context)), ...context.req.param() };
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new InputInvalidError(explain(parsed.error.issues[0]));
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
