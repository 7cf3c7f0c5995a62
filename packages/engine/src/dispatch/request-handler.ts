/** Answers a worker's requests to the host while it runs: decide a waiting call, dispatch another run. */
import * as z from 'zod/mini';
import { definedOnly, Mode, TERMINAL_TYPES } from '@caisson/protocol';
import {
  type DispatchRequest,
  type DispatchRooms,
  type RequestHandler,
  type RunHandle,
  TaskRefusedError,
} from '../admission/index.ts';
import { listApprovals, type Approvals } from '../questions/index.ts';
import { holdCall } from './hold-call.ts';

/** A control line has at most 1 MiB; a larger patch is only in `caisson diff`. */
const MAX_PATCH_BYTES = 512 * 1024;
const MAX_CHILDREN = 8;
const MAX_REPLY_CHARACTERS = 64 * 1024;

const text = (max: number) => z.string().check(z.minLength(1), z.maxLength(max));

/** What an agent may choose for a run that it requests; the configuration or its own grant decides the rest. */
const DispatchBody = z.object({
  task: text(65_536),
  agent: z.optional(text(128)),
  runtime: z.optional(text(128)),
  model: z.optional(text(256)),
  mode: z.optional(Mode),
  tools: z.optional(z.array(text(100)).check(z.maxLength(16))),
  timeoutMs: z.optional(z.number().check(z.positive())),
});

export interface RequestHandlerOptions {
  readonly approvals: Approvals;
  /** At most once for an idempotency key. */
  dispatch(request: DispatchRequest): Promise<RunHandle>;
  readonly rooms: Pick<DispatchRooms, 'store' | 'ledger'>;
}

export function createRequestHandler({ approvals, dispatch, rooms }: RequestHandlerOptions): RequestHandler {
  const children = new Map<string, Set<RunHandle>>();

  const runChild = async (run: Parameters<RequestHandler['answer']>[0], requestId: string, body: unknown) => {
    const asked = z.parse(DispatchBody, body);
    const own = children.get(run.runId) ?? new Set();
    if (own.size >= MAX_CHILDREN)
      throw new TaskRefusedError({
        check: 'children',
        kind: 'full',
        detail: `this run already waits for ${MAX_CHILDREN} others`,
        remedy: 'Wait for one of them.',
      });
    const handle = await dispatch({
      ...definedOnly({ runtime: asked.agent === undefined ? ownRuntime(rooms, run.runId) : undefined }),
      ...definedOnly(asked),
      task: asked.task,
      session: run.session ?? run.runId,
      parent: { runId: run.runId, grant: run.grant }, // invariant 6
      trace: run.trace,
      idempotencyKey: `${run.runId}.${run.attempt}.${requestId}`, // the host before may have dispatched it
    });
    children.set(run.runId, own.add(handle));
    try {
      return await describeChild(rooms, handle);
    } finally {
      own.delete(handle);
    }
  };
  return {
    async answer(run, { id: requestId, request, body, waitedMs }) {
      switch (request) {
        case 'approve':
          return { ok: true, value: await holdCall(approvals, rooms, run, { requestId, body, waitedMs }) };
        case 'dispatch':
          try {
            return { ok: true, value: await runChild(run, requestId, body) };
          } catch (error) {
            if (!(error instanceof TaskRefusedError)) throw error;
            return { ok: false, value: [error.message, error.remedy].filter(Boolean).join(' ') };
          }
        default:
          return { ok: false, value: `the host has no answer to "${request}"` };
      }
    },
    async close(runId, emit) {
      // A child works for its parent: without the parent nothing waits for the answer.
      for (const child of children.get(runId) ?? []) child.cancel();
      children.delete(runId);
      await approvals.close(runId);
      for (const { approvalId } of listApprovals(rooms.ledger, { runId, openOnly: true }))
        await emit('approval.decided', { approvalId, decision: 'deny', by: 'ending' }); // requested from a host that died
    },
  };
}

/** An agent that names neither agent nor runtime gets its own runtime, not the default one. */
function ownRuntime({ ledger }: RequestHandlerOptions['rooms'], runId: string): string | undefined {
  const name = ledger.run(runId)?.runtime;
  return name === 'command' ? undefined : name;
}

/** The text for the parent's agent, and the patch for its mailbox. */
async function describeChild(rooms: RequestHandlerOptions['rooms'], handle: RunHandle): Promise<unknown> {
  const ended = await handle.ended;
  const ref = rooms.ledger.read({ runId: ended.runId, types: TERMINAL_TYPES }).at(-1)?.data.patchRef;
  const patch = ref === undefined ? Buffer.alloc(0) : await rooms.store.getBlob(ref);
  return {
    runId: ended.runId,
    status: ended.status,
    reply: ended.reply.slice(0, MAX_REPLY_CHARACTERS),
    ...definedOnly({ failure: ended.failure, question: ended.result?.needsInput?.question }),
    patchBytes: patch.length,
    ...(patch.length > 0 && patch.length <= MAX_PATCH_BYTES ? { patch: patch.toString('base64') } : {}),
  };
}
