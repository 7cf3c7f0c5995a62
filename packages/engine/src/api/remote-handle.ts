/** A run that the host drives, for the process that asked for it. */
import { createFrameReader, type Caller, type DispatchRequest } from '@caisson/protocol';
import type { AttachOptions, Attachment, RunHandle } from '../admission/index.ts';
import { handled } from '../platform/index.ts';
import { call, callForChunks, callForEvents, parseProblem, readAll } from './call.ts';
import type { Connection } from './contract.ts';
import { OPERATIONS } from './operations.ts';
import { DaemonGoneError, toThrown } from './problems.ts';

interface Dispatched {
  readonly runId: string;
  readonly isEarlier?: boolean;
  readonly attachment?: string;
}

export async function dispatchRemote(
  { connection, caller }: { readonly connection: Connection; readonly caller: Caller },
  request: DispatchRequest,
  attachment: Attachment = {},
): Promise<RunHandle> {
  const { write, input, isMerged } = attachment;
  const isAttached = write !== undefined || input !== undefined;
  const attach = { writes: write !== undefined, reads: input !== undefined, isMerged };
  const body = JSON.stringify({ request, caller, ...(isAttached ? { attach } : {}) });
  const answer = await connection.request({ method: 'POST', path: '/v1/runs', body });
  const read = await readAll(answer);
  if (answer.status >= 400) throw toThrown(parseProblem(read));
  const dispatched = JSON.parse(read.toString('utf8')) as Dispatched;
  const handle = createRemoteHandle(connection, dispatched.runId);
  const over = new AbortController();
  const streams = startStreams(connection, dispatched, attachment, over);
  // What the command printed last is passed on before the run has ended for its caller.
  const ended = Promise.all([handle.ended, streams])
    .then(([result]) => result)
    .finally(() => over.abort()); // nobody reads our input any more
  return { ...handle, ...(dispatched.isEarlier === true ? { isEarlier: true } : {}), ended: handled(ended) };
}

export function createRemoteHandle(
  connection: Connection,
  runId: string,
  { signal: left }: AttachOptions = {},
): RunHandle {
  const name = (error: unknown): unknown => (error instanceof DaemonGoneError ? error.during(runId) : error);
  const ended = call(connection, OPERATIONS.ended, { run: runId }, left).catch((error: unknown) => {
    throw name(error);
  });
  return {
    runId,
    isElsewhere: true,
    async *events({ signal, ...how } = {}) {
      try {
        yield* callForEvents(connection, OPERATIONS.follow, { run: runId, ...how }, signal);
      } catch (error) {
        throw name(error);
      }
    },
    ended: handled(ended),
    cancel: ({ force, interrupt } = {}) =>
      void call(connection, OPERATIONS.cancel, { run: runId, force, interrupt }).catch(() => undefined),
    send: async (body) => (await call(connection, OPERATIONS.send, { run: runId, body })).messageId,
  };
}

async function startStreams(
  connection: Connection,
  { runId, attachment }: Dispatched,
  { write, input }: Attachment,
  over: AbortController,
): Promise<void> {
  if (attachment === undefined) return;
  const path = `/v1/attachments/${attachment}`;
  const { signal } = over;
  if (input !== undefined)
    void connection
      .request({ method: 'POST', path: `${path}/input`, body: input, signal, isPatient: true })
      .then(readAll)
      .catch(() => undefined)
      .finally(() => input.unpipe()); // nobody reads it any more
  if (write === undefined) return;
  const { status, body } = await connection.request({
    method: 'GET',
    path: `${path}/output`,
    isPatient: true,
  });
  if (status >= 400) return await writeRecorded(connection, runId, write);
  const readFrames = createFrameReader();
  for await (const chunk of body) for (const { name, bytes } of readFrames(chunk)) await write(name, [bytes]);
}

/** We came too late for the streams, as after Ctrl-Z: what the command printed is in its log all the same. */
async function writeRecorded(
  connection: Connection,
  run: string,
  write: NonNullable<Attachment['write']>,
): Promise<void> {
  await Promise.all(
    (['stdout', 'stderr'] as const).map(async (name) => {
      for await (const bytes of callForChunks(connection, OPERATIONS.followLog, { run, name }))
        await write(name, [bytes]);
    }),
  );
}
