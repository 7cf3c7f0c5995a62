/**
 * Stage 6: one ending, once. The tree is gone; the workspace is checkpointed (D4); captures are in the store; the terminal
 * event is durable; only then is anything cleaned up, while evidence is signed and the branch is pushed.
 */
import { createRedactor, type NamedSecret } from '@caisson/ground';
import {
  CheckpointRef,
  definedOnly,
  exitCodeOf,
  isRetryable,
  type DataOf,
  type DurableType,
  type Ending,
  type EventContent,
  type Result,
  type SessionResume,
  type Usage,
} from '@caisson/protocol';
import type { RunRecord } from '../ledger/index.ts';
import { createPrefixedId } from '../platform/index.ts';
import type { Checkpoint } from '../workspace/index.ts';
import type { AttemptRemains } from './attempt-remains.ts';
import { recordHandoff } from './check-handoff.ts';
import { cleanUp, orWarn, removeRemains } from './clean-up.ts';
import { requestedModel } from './count-usage.ts';
import type { DispatchRooms } from '../admission/index.ts';
import { keepCaptures, type KeptCaptures } from './keep-captures.ts';
import { compareLogin } from './login-copy.ts';
import { describeSaved, recordRemoved } from './flow-events.ts';
import { findHiddenWork } from './left-work.ts';
import type { MayPass } from './passing-failure.ts';
import { pushBranch } from './push-branch.ts';
import type { FoundResult } from './read-result.ts';
import { redactCheckpoint } from './redact-checkpoint.ts';
import { settleBranch } from './settle-branch.ts';
import { sumAttempts } from './sum-attempts.ts';
import { recordInReserve } from './with-reserve.ts';
import { withholdTexts } from './withhold-texts.ts';

export interface SettleInput {
  readonly remains: AttemptRemains;
  readonly ending: Ending;
  readonly found: FoundResult;
  readonly durationMs: number;
  /** Secrets of the agent, for the names of its files in warnings; a recovering host does not know them (`hasLostSecrets`). */
  readonly secrets?: readonly NamedSecret[];
  /** The agent had secrets, and their values are not known any more: its own words are not kept. */
  readonly hasLostSecrets?: boolean;
  /** The usage of the attempt; `reported` is its result's own figure. */
  countUsage(reported: Usage | undefined): Usage | undefined;
  /** The conversation that another attempt can continue; undefined if there is none. */
  findConversation?(): SessionResume | undefined;
  /** Aborted when the host ends, or the run is ordered to stop (P2). */
  readonly noPush?: AbortSignal;
  /** Which failures are thrown so that everything is repeated later; any other becomes a warning of the run. */
  readonly mayPass: MayPass;
}

type Retry = Readonly<Record<'attemptsLeft' | 'delayMs', number>>;

export type Settled = Readonly<Record<'kind', 'retry' | 'ended'>>;

/** May be repeated until it works: finished steps are recognised, and nothing is recorded twice. */
export async function settle(
  rooms: DispatchRooms,
  record: RunRecord,
  input: SettleInput,
  retry: Retry,
): Promise<Settled> {
  const { remains } = input;
  if (rooms.ledger.run(remains.runId)?.ending === undefined) {
    const recorded = await recordEnd(rooms, record, input, await saveWork(rooms, record, input), retry);
    if (recorded.kind === 'retry') {
      await cleanUp(rooms, record, remains);
      return recorded;
    }
  }
  rooms.budget.settle(remains.runId, usageOf(input));
  await finishSettled(rooms, record, remains, input);
  return { kind: 'ended' };
}

interface SavedWork {
  readonly checkpoint: Checkpoint | null | undefined;
  readonly kept: KeptCaptures;
  readonly warnings: readonly EventContent<'warning'>[];
}

/** Checkpoint and captures: after this the work is safe, whatever happens to the workspace. */
async function saveWork(rooms: DispatchRooms, record: RunRecord, input: SettleInput): Promise<SavedWork> {
  const { remains, mayPass, secrets = [] } = input;
  const { runId, attempt, workspace } = remains;
  const { redact, redactBytes } = createRedactor(secrets);
  const warnings: EventContent<'warning'>[] = [];
  const warn = (source: string, message: string): void =>
    void warnings.push({ type: 'warning', data: { source, message: message.slice(0, 4000) } });
  const warnUnlessPassing = <T>(source: string, work: () => Promise<T>): Promise<T | undefined> =>
    work().catch((error: Error) => {
      if (mayPass(error)) throw error;
      warn(source, error.message);
      return undefined;
    });
  const release = (): Promise<unknown> => warnUnlessPassing('compute', () => remains.release());
  if (remains.isProvenGone !== true) await release(); // it kills what is left
  await warnUnlessPassing('questions', () =>
    rooms.requests.close(runId, (type, data) => record.append(type, data, { attempt })),
  );
  await warnUnlessPassing('login', () =>
    compareLogin(rooms.settings, remains.paths, { report: (message) => warn('login', message) }),
  );
  const clean = input.hasLostSecrets === true ? withholdTexts : secrets.length === 0 ? null : redactBytes;
  const saving = warnUnlessPassing('workspace', () => rooms.workspaces.checkpoint(workspace, { clean }));
  const keeping = keepCaptures(rooms, remains, input.found, { mayPass, saving });
  const releasing = remains.isProvenGone === true ? release() : undefined;
  await Promise.allSettled([saving, keeping, releasing]); // after a failure all are repeated
  const [saved, kept] = [await saving, await keeping, await releasing];
  const checkpoint = saved == null ? saved : redactCheckpoint(saved, redact);
  for (const message of [...(checkpoint?.warnings ?? []), ...kept.warnings.map(redact)])
    warn('workspace', message);
  return { checkpoint, kept, warnings };
}

/** The ending waits for all kept events, and its warnings are recorded with it: a second try repeats none. */
async function recordEnd(
  rooms: DispatchRooms,
  record: RunRecord,
  input: SettleInput,
  { checkpoint, kept, warnings }: SavedWork,
  retry: Retry,
): Promise<Settled> {
  const { runId, attempt } = input.remains;
  const usage = usageOf(input);
  const costUsd = usage === undefined ? undefined : rooms.budget.cost(usage, requestedModel(rooms, runId));
  const { patchRef, patchMissing, risky, resultRef } = kept;
  // The record has what is declared; the warnings of the checkpoint are events of their own.
  const ref = checkpoint == null ? undefined : CheckpointRef.parse(checkpoint);
  const saved = { patchRef, patchMissing, checkpoint: ref, usage, costUsd };
  const next = planRetry(input, retry, checkpoint);
  const { durationMs } = input;
  const before = [...warnings, ...describeSaved(input.remains, checkpoint)];
  const write = (events: EventContent<DurableType>[]): Promise<void> =>
    recordInReserve(rooms, record, attempt, [...before, ...events]);
  if (next.kind === 'retry') {
    const data = { ...next.data, durationMs, resume: input.findConversation?.(), ...saved };
    await write([{ type: 'attempt.ended', data }]);
    return { kind: 'retry' };
  }
  const ending: Ending = kept.failure === null ? next.ending : { kind: 'failed', failure: kept.failure };
  const exitCode = exitCodeOf(ending.kind, kept.result?.exitCode ?? null);
  const work = { ...saved, ...findHiddenWork(rooms, input.remains, ending, kept) };
  const branch = await settleBranch(rooms, runId, { ...work, resultRef }, input.mayPass);
  const total = sumAttempts(rooms, runId, { usage, costUsd, durationMs });
  const checkPassed = kept.result?.verify?.passed;
  const common = { durationMs, exitCode, resultRef, risky, checkPassed, total, ...work, ...branch };
  const { redact } = createRedactor(input.secrets ?? []);
  const { workspace, isForBranch } = input.remains;
  const ended = { runId, isForBranch, workspace, ending, result: kept.result, redact };
  const reported = { ...ended, work: { ...work, resultRef }, ...branch, usage, durationMs, total };
  const handoff = await recordHandoff(rooms, reported, input.mayPass);
  await write([...handoff, ...terminalEvents(rooms, ending, kept.result, common)]);
  return { kind: 'ended' };
}

function usageOf({ found, countUsage }: SettleInput): Usage | undefined {
  return countUsage(found.kind === 'valid' ? found.result.usage : undefined);
}

/**
 * What follows a durable ending; if the host dies here, recovery does it. The seal reads the store and the ledger, and a push
 * the repository: neither needs what is removed beside them.
 */
export async function finishSettled(
  rooms: DispatchRooms,
  record: RunRecord,
  remains: AttemptRemains,
  { isLate = false, noPush: signal }: { isLate?: boolean; noPush?: AbortSignal } = {},
): Promise<void> {
  const { runId, attempt } = remains;
  const sealAndPush = async (): Promise<void> => {
    await orWarn(record, attempt, 'evidence', () => rooms.seal(runId, { isLate }));
    const push = (): Promise<void> => pushBranch(rooms, record, runId, definedOnly({ signal }));
    await orWarn(record, attempt, 'push', push);
  };
  const [isRemoved] = await Promise.all([removeRemains(rooms, record, remains), sealAndPush()]); // neither rejects
  if (isRemoved) recordRemoved(record, remains); // the last step that is shown, also behind a long push
}

/**
 * Whether another attempt follows. In place it would begin with what this one left in the user's files, and its patch
 * would lack that: there only an attempt that changed nothing is repeated.
 */
function planRetry(
  { ending, remains }: SettleInput,
  retry: Retry,
  checkpoint: Checkpoint | null | undefined,
):
  | { kind: 'retry'; data: Pick<DataOf<'attempt.ended'>, 'failure' | 'nextAttempt' | 'delayMs'> }
  | { kind: 'end'; ending: Ending } {
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

function terminalEvents(
  rooms: DispatchRooms,
  ending: Ending,
  result: Result | null,
  common: DataOf<'dispatch.finished'>,
): EventContent<DurableType>[] {
  switch (ending.kind) {
    case 'finished':
      return [{ type: 'dispatch.finished', data: common }];
    case 'cancelled':
      return [{ type: 'dispatch.cancelled', data: { ...common, cause: ending.cause } }];
    case 'failed':
      return [{ type: 'dispatch.failed', data: { ...common, failure: ending.failure } }];
    case 'needs_input': {
      const questionId = createPrefixedId('question', rooms.clock);
      const { question = '', options, context, partial_state: partialState } = result?.needsInput ?? {};
      const deadlineAt = new Date(rooms.clock.wallMs() + rooms.settings.questionDeadlineMs).toISOString();
      return [
        {
          type: 'question.asked',
          data: {
            questionId,
            text: question,
            ...definedOnly({ options, context, partialState }),
            deadlineAt,
          },
        },
        { type: 'dispatch.needs_input', data: { ...common, questionId } },
      ];
    }
  }
}
