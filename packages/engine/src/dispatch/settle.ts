/**
 * Stage 6: one ending, once. The tree is gone; the workspace is checkpointed; captures are in the store; the terminal
 * event is durable; evidence is signed; only then is anything cleaned up (D4).
 */
import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isRetryable, type Resolved, type Result, type Usage } from '@caisson/protocol';
import { capturePatch } from '@caisson/ground';
import { createPrefixedId } from '../platform/index.ts';
import type { DispatchRooms } from './contract.ts';
import type { Ending } from './find-ending.ts';
import type { AttemptPaths } from './state-paths.ts';
import type { PreparedWorkspace } from '../workspace/index.ts';
import type { RunRecord } from './run-record.ts';
import type { FoundResult } from './read-result.ts';

/** What an attempt leaves behind, in this host or in one that died. */
export interface AttemptRemains {
  readonly runId: string;
  readonly attempt: number;
  readonly paths: AttemptPaths;
  readonly workspace: PreparedWorkspace;
  /** Lets go of network and limits. */
  release(): Promise<void>;
}

export interface SettleInput {
  readonly remains: AttemptRemains;
  readonly ending: Ending;
  readonly found: FoundResult;
  readonly hasStarted: boolean;
  readonly durationMs: number;
  readonly usage: Usage | undefined;
}

export type Settled = { readonly kind: 'retry'; readonly failure: string } | { readonly kind: 'ended' };

export async function settle(
  rooms: DispatchRooms,
  record: RunRecord,
  input: SettleInput,
  retry: { attemptsLeft: number; delayMs: number },
): Promise<Settled> {
  const { remains, ending } = input;
  const { runId } = remains;
  await remains.release();
  await rooms.desk.close(runId);
  const result = input.found.kind === 'valid' ? input.found.result : null;
  const usage = result?.usage ?? input.usage;
  const costUsd = usage === undefined ? undefined : rooms.budget.cost(usage, requestedModel(rooms, runId));
  const checkpoint = await rooms.workspaces.checkpoint(remains.workspace);
  if (ending.kind === 'failed' && retry.attemptsLeft > 0 && isRetryable(ending.failure, input.hasStarted)) {
    await record.append(
      'attempt.ended',
      {
        failure: ending.failure,
        nextAttempt: remains.attempt + 1,
        delayMs: retry.delayMs,
        ...spent(usage, costUsd),
      },
      { attempt: remains.attempt },
    );
    await cleanUp(rooms, remains);
    return { kind: 'retry', failure: ending.failure.detail };
  }
  const patchRef = await keepCaptures(rooms, remains, result);
  const resultBytes = input.found.kind === 'valid' ? input.found.bytes : null;
  const resultRef = resultBytes === null ? undefined : (await rooms.store.putBlob(resultBytes)).digest;
  await record.flush();
  await record.appendAll(
    terminalEvents(rooms, ending, result, {
      durationMs: input.durationMs,
      exitCode: result?.exitCode ?? null,
      ...(resultRef === undefined ? {} : { resultRef }),
      ...(patchRef === undefined ? {} : { patchRef }),
      ...spent(usage, costUsd),
      ...(checkpoint === null ? {} : { checkpoint }),
    }),
    remains.attempt,
  );
  rooms.budget.settle(runId, usage);
  await rooms.seal(runId);
  await cleanUp(rooms, remains);
  return { kind: 'ended' };
}

function requestedModel(rooms: DispatchRooms, runId: string): string {
  const [accepted] = rooms.ledger.read({ runId, types: ['dispatch.accepted'] });
  return (accepted?.data['resolved'] as Resolved | undefined)?.model.requested ?? '';
}

function spent(usage: Usage | undefined, costUsd: number | undefined): Record<string, unknown> {
  return { ...(usage === undefined ? {} : { usage }), ...(costUsd === undefined ? {} : { costUsd }) };
}

function terminalEvents(
  rooms: DispatchRooms,
  ending: Ending,
  result: Result | null,
  common: Record<string, unknown>,
): { type: string; data: Record<string, unknown> }[] {
  switch (ending.kind) {
    case 'finished':
      return [{ type: 'dispatch.finished', data: common }];
    case 'cancelled':
      return [{ type: 'dispatch.cancelled', data: { ...common, cause: ending.cause } }];
    case 'failed':
      return [{ type: 'dispatch.failed', data: { ...common, failure: ending.failure } }];
    case 'needs_input': {
      const questionId = createPrefixedId('question', rooms.clock);
      const asked = result?.needsInput;
      const deadlineAt = new Date(rooms.clock.wallMs() + rooms.settings.questionDeadlineMs).toISOString();
      return [
        {
          type: 'question.asked',
          data: {
            questionId,
            text: asked?.question ?? '',
            ...(asked?.options === undefined ? {} : { options: asked.options }),
            ...(asked?.context === undefined ? {} : { context: asked.context }),
            ...(asked?.partial_state === undefined ? {} : { partialState: asked.partial_state }),
            deadlineAt,
          },
        },
        { type: 'dispatch.needs_input', data: { ...common, questionId } },
      ];
    }
  }
}

/** The host re-hashes what the worker captured; without a result it takes the patch itself, so that nothing is lost. */
async function keepCaptures(
  rooms: DispatchRooms,
  remains: AttemptRemains,
  result: Result | null,
): Promise<string | undefined> {
  if (result === null || (result.status !== 'finished' && result.patchRef === undefined)) {
    if (result !== null) await ingest(rooms, remains, refsOf(result));
    return captureLate(rooms, remains);
  }
  await ingest(rooms, remains, refsOf(result));
  return result.patchRef;
}

function refsOf(result: Result): string[] {
  return [
    result.reply.ref,
    result.logs.stdout.ref,
    result.logs.stderr.ref,
    ...(result.patchRef === undefined ? [] : [result.patchRef]),
    ...result.outputs.map((output) => output.ref),
  ];
}

async function ingest(rooms: DispatchRooms, remains: AttemptRemains, refs: readonly string[]): Promise<void> {
  for (const ref of new Set(refs)) {
    const bytes = await readFile(join(remains.paths.captures, ref));
    const actual = createHash('sha256').update(bytes).digest('hex');
    if (actual !== ref) throw new Error(`capture ${ref} has the digest ${actual}`);
    await rooms.store.putBlob(bytes);
  }
}

async function captureLate(rooms: DispatchRooms, remains: AttemptRemains): Promise<string | undefined> {
  const { workspace } = remains;
  const captured = await capturePatch({
    workspace: workspace.path,
    gitDir: workspace.gitDir,
    baselineTree: workspace.baselineTree,
    exclude: [...workspace.exclude],
  });
  return captured.empty ? undefined : (await rooms.store.putBlob(captured.patch)).digest;
}

/** The result file stays for a day as a second witness; the rest of the attempt's files are no longer needed. */
async function cleanUp(rooms: DispatchRooms, remains: AttemptRemains): Promise<void> {
  await rooms.workspaces.remove(remains.workspace);
  for (const path of [remains.paths.captures, remains.paths.mailbox, remains.paths.home, remains.paths.job]) {
    await rm(path, { recursive: true, force: true });
  }
}
