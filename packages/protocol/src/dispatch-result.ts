import * as z from 'zod/mini';
import {
  PushProblem,
  RemoteRepository,
  ResolvedNames,
  RunBranch,
  WorkBeside,
  type TerminalType,
} from './events.ts';
import { Failure } from './failure.ts';
import { Handoff } from './handoff.ts';
import { RunId } from './ids.ts';
import { LiveRun, WaitsFor } from './live-run.ts';
import { Result, RunTotal, Usage, reportedExitCode } from './result.ts';
import { ListedRisk } from './risky-paths.ts';

/**
 * Derived from the events. `waiting`: the run ended with a question that is open or expired. `answered`: another run
 * continues with the answer (`continuedBy`); this one is not done and never will be.
 */
export const RUN_STATUSES = [
  'queued',
  'running',
  'waiting',
  'answered',
  'done',
  'error',
  'timeout',
  'budget_exceeded',
  'cancelled',
  'interrupted',
] as const;
export const RunStatus = z.enum(RUN_STATUSES);
export type RunStatus = z.infer<typeof RunStatus>;

/** The outcome of the push of a run's branch. */
export const RunPush = z.object({
  remote: z.string(),
  branch: z.string(),
  status: z.enum(['pushed', 'failed', 'pending']),
  reason: z.optional(PushProblem),
  detail: z.optional(z.string()),
});
export type RunPush = z.infer<typeof RunPush>;

/** The output of `run -o json` and `show -o json`, and the result of the library. */
export const DispatchResult = z.object({
  runId: RunId,
  status: RunStatus,
  /** The run that continues with the answer; only with status `answered`. */
  continuedBy: z.optional(RunId),
  failure: z.optional(Failure),
  /** What carried it out; `command` is a plain command, which asks no model. Absent if a newer version accepted it. */
  runtime: z.optional(z.string()),
  exitCode: reportedExitCode(),
  /** Of the last attempt, as `result.usage` is; absent until it has ended, or if a newer version wrote the ending. */
  durationMs: z.optional(z.number()),
  /** All attempts together; absent where there was one. */
  total: z.optional(RunTotal),
  /** The cost of the run, all attempts together: reported by the runtime or from the price table. Absent is unknown. */
  costUsd: z.optional(z.number()),
  /** A part of `costUsd` is an estimate: an answer of the model did not report its usage. */
  costIsEstimate: z.optional(z.literal(true)),
  stdout: z.string(),
  stderr: z.string(),
  reply: z.string(),
  resolved: ResolvedNames,
  result: z.nullable(Result),
  /** Of a run that ended without a result: what was counted of its use of a model until then. It may have used more. */
  usage: z.optional(Usage),
  /** Changes of the patch that `apply` asks about; absent when there are none. */
  risky: z.optional(z.array(ListedRisk)),
  /** Work that is in no patch, because none could be taken or recorded, or (`problem`) it cannot be read. `show` says it. */
  unpatched: z.optional(
    z.object({
      why: z.string(),
      where: z.string(),
      remedy: z.string(),
      problem: z.optional(z.enum(['missing', 'damaged', 'unreadable'])),
    }),
  ),
  /** The run has no sealed patch, and left work all the same: `caisson diff` shows it, or says where it is. */
  leftWork: z.optional(z.literal(true)),
  /** When a person took its work into their files; absent until then. `show` says it. */
  applied: z.optional(
    z.object({
      at: z.string(),
      /** How many files were changed; 0 if they had it already. */
      files: z.int(),
      /** Whether conflict markers were left in them. */
      hasConflicts: z.boolean(),
      /** Present where only some files or hunks were taken. */
      isPartial: z.optional(z.literal(true)),
    }),
  ),
  /** When its contents were deleted on request; absent until then. `show` says it. */
  forgottenAt: z.optional(z.string()),
  /** What was asked for beside the text of the task. `show` says it. */
  task: z.optional(
    z.object({
      priority: z.int(),
      scope: z.array(z.string()),
      branch: z.optional(z.string()),
      acceptance: z.optional(z.string()),
    }),
  ),
  /** Work that was saved beside the patch (commits on another branch, a stash); absent when there is none. */
  beside: z.optional(z.array(WorkBeside)),
  /** Changed files that no pattern of the task's scope covers; absent without a scope, or when there are none. */
  outsideScope: z.optional(z.array(z.string())),
  /** The requested branch; absent when none was requested, or nothing was saved. */
  branch: z.optional(RunBranch),
  /** The remote repository that the run worked on, instead of the project. */
  repository: z.optional(RemoteRepository),
  /** Whether that branch is on the remote; absent if it was not to be pushed. `pending`: not tried yet. */
  push: z.optional(RunPush),
  /** The checked report of the task; absent where none was asked for or given. */
  handoff: z.optional(Handoff),
  events: z.object({ count: z.int(), lastSeq: z.int() }),
  /** How far it is; absent once it has ended. `show` says it. */
  live: z.optional(LiveRun),
  /** What it waits for a person to say. `show` says it. */
  waitsFor: z.optional(WaitsFor),
  /** The run that this one continues and, if it continues with an answer, the question and the answer. */
  continues: z.optional(
    z.object({ runId: RunId, question: z.optional(z.string()), answer: z.optional(z.string()) }),
  ),
  /** The outcome of the question that the run left. */
  asked: z.optional(
    z.object({
      question: z.string(),
      status: z.enum(['open', 'answered', 'expired']),
      answer: z.optional(z.string()),
      /** The run that continues with the answer. */
      continuedBy: z.optional(RunId),
    }),
  ),
  /** The state of the callbacks; absent when there are none. */
  callbacks: z.optional(
    z.array(
      z.object({
        url: z.string(),
        event: z.string(),
        status: z.enum(['pending', 'delivered', 'failed']),
        tries: z.int(),
        detail: z.optional(z.string()),
      }),
    ),
  ),
});
export type DispatchResult = z.infer<typeof DispatchResult>;

/** The status that a terminal event means. */
export function statusOfEnding(
  type: TerminalType,
  failure: Failure | undefined,
  cause: string | undefined,
): RunStatus {
  switch (type) {
    case 'dispatch.finished':
      return 'done';
    case 'dispatch.needs_input':
      return 'waiting';
    case 'dispatch.cancelled':
      return cause === 'shutdown' ? 'interrupted' : 'cancelled';
    case 'dispatch.failed':
      return statusOfFailure(failure);
  }
}

function statusOfFailure(failure: Failure | undefined): RunStatus {
  switch (failure?.reason) {
    case 'timeout':
      return 'timeout';
    case 'budget-exceeded':
      return 'budget_exceeded';
    case 'lost':
      return 'interrupted';
    default:
      return 'error';
  }
}
