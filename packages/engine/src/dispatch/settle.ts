/**
 * Stage 6: one ending, once. The tree is gone; the workspace is checkpointed; captures are in the store; the terminal
 * event is durable; evidence is signed; only then is anything cleaned up (D4).
 */
import { createRedactor, type NamedSecret } from '@caisson/ground';
import { isRetryable, type Resolved, type Result, type Usage } from '@caisson/protocol';
import { createPrefixedId } from '../platform/index.ts';
import type { Checkpoint } from '../workspace/index.ts';
import type { AttemptRemains } from './attempt-remains.ts';
import { cleanUp, orWarn } from './clean-up.ts';
import type { DispatchRooms } from './rooms.ts';
import type { Ending } from './find-ending.ts';
import { keepCaptures } from './keep-captures.ts';
import type { RunRecord } from './run-record.ts';
import type { FoundResult } from './read-result.ts';
import { settleBranch } from './settle-branch.ts';

export interface SettleInput {
  readonly remains: AttemptRemains;
  readonly ending: Ending;
  readonly found: FoundResult;
  readonly durationMs: number;
  /** What the agent was given, for the names of its files in warnings; a host that recovers does not know it. */
  readonly secrets?: readonly NamedSecret[];
  /** What the attempt used; `told` is what its result says. */
  countUsage(told: Usage | undefined): Usage | undefined;
}

export interface Settled {
  readonly kind: 'retry' | 'ended';
}

export async function settle(
  rooms: DispatchRooms,
  record: RunRecord,
  input: SettleInput,
  retry: { attemptsLeft: number; delayMs: number },
): Promise<Settled> {
  const { remains } = input;
  const { runId, attempt } = remains;
  await orWarn(record, attempt, 'compute', () => remains.release());
  await orWarn(record, attempt, 'questions', () =>
    rooms.desk.close(runId, (type, data) => record.append(type, data, { attempt })),
  );
  const usage = input.countUsage(input.found.kind === 'valid' ? input.found.result.usage : undefined);
  const costUsd = usage === undefined ? undefined : rooms.budget.cost(usage, requestedModel(rooms, runId));
  const secrets = input.secrets ?? [];
  const { redact, redactBytes } = createRedactor(secrets);
  const saved = await orWarn(record, attempt, 'workspace', () =>
    rooms.workspaces.checkpoint(remains.workspace, { clean: secrets.length === 0 ? null : redactBytes }),
  );
  const checkpoint =
    saved == null
      ? saved
      : {
          ...saved,
          heads: saved.heads.map(redact),
          warnings: saved.warnings.map(redact),
          ...(saved.heldBack === undefined
            ? {}
            : { heldBack: { ...saved.heldBack, paths: saved.heldBack.paths.map(redact) } }),
        };
  const next = planRetry(input, retry, checkpoint);
  const kept = await keepCaptures(rooms, remains, input.found);
  const work = {
    ...(kept.patchRef === undefined ? {} : { patchRef: kept.patchRef }),
    ...spent(usage, costUsd),
    ...(checkpoint == null ? {} : { checkpoint }),
    ...(kept.risky === undefined ? {} : { risky: kept.risky }),
  };
  if (next.kind === 'retry') {
    await record.append('attempt.ended', { ...next.data, ...work }, { attempt });
    await cleanUp(rooms, record, remains);
    return { kind: 'retry' };
  }
  for (const message of [...(checkpoint?.warnings ?? []), ...kept.warnings.map(redact)])
    await record.append('warning', { source: 'workspace', message }, { attempt });
  const ending: Ending = kept.failure === null ? next.ending : { kind: 'failed', failure: kept.failure };
  const branch = await settleBranch(rooms, runId, saved);
  await record.flush();
  await record.appendAll(
    terminalEvents(rooms, ending, kept.result, {
      durationMs: input.durationMs,
      exitCode: kept.result?.exitCode ?? null,
      ...(kept.resultRef === undefined ? {} : { resultRef: kept.resultRef }),
      ...work,
      ...branch,
    }),
    attempt,
  );
  rooms.budget.settle(runId, usage);
  await finishSettled(rooms, record, remains);
  return { kind: 'ended' };
}

/** What follows a durable ending; a host that dies here leaves it to recovery. */
export async function finishSettled(
  rooms: DispatchRooms,
  record: RunRecord,
  remains: AttemptRemains,
): Promise<void> {
  await orWarn(record, remains.attempt, 'evidence', () => rooms.seal(remains.runId));
  await cleanUp(rooms, record, remains);
}

/**
 * Whether another attempt follows. In place it would begin with what this one left in the user's files, and its patch
 * would lack that: there only an attempt that changed nothing is repeated.
 */
function planRetry(
  { ending, remains }: SettleInput,
  retry: { attemptsLeft: number; delayMs: number },
  checkpoint: Checkpoint | null | undefined,
): { kind: 'retry'; data: Record<string, unknown> } | { kind: 'end'; ending: Ending } {
  if (ending.kind !== 'failed' || retry.attemptsLeft <= 0 || !isRetryable(ending.failure))
    return { kind: 'end', ending };
  const { failure } = ending;
  const { workspace, attempt } = remains;
  const isAsBefore =
    checkpoint === null ||
    (checkpoint?.heldBack === undefined && checkpoint?.tree === workspace.baselineTree);
  if (workspace.kind === 'in-place' && !isAsBefore) {
    const detail = `${failure.detail} It is not tried again by itself: it works in place, and what it did is in your files.`;
    return { kind: 'end', ending: { kind: 'failed', failure: { ...failure, detail } } };
  }
  return { kind: 'retry', data: { failure, nextAttempt: attempt + 1, delayMs: retry.delayMs } };
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
