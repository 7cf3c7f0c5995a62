/** The usage of an attempt while it runs, by its model's answers: caps apply, and its heartbeats report it. */
import {
  type HeartbeatCounters,
  type ObservedUsage,
  type SessionResume,
  type StopReason,
  type Usage,
  type WorkerLine,
} from '@caisson/protocol';
import type { DispatchRooms } from '../admission/index.ts';
import { unlessUnanswered } from './continued-work.ts';
import { countUsage, findEarlierUse, withPending } from './count-usage.ts';
import type { FollowedParts, FollowedRun } from './follow.ts';
import { usageOfLine } from './worker-lines.ts';

type Progress = Extract<WorkerLine, { kind: 'progress' }>;

export interface UsageWatch {
  receive(line: Progress): void;
  /** What the broker has seen so far, as the worker reports it. */
  observe(usage: ObservedUsage): void;
  /** The worker has ended and reports no more. */
  end(): void;
  /** The newest of it; null if no model is seen. */
  readonly seen: ObservedUsage | null;
  /** The usage by all reports; `reported` is the result's own figure. */
  count(reported?: Usage): Usage | undefined;
  /** The counters of a beat, with the broker's figures in place of the agent's. */
  countBeat(counters: HeartbeatCounters): HeartbeatCounters;
  /** See {@link FollowedAttempt.findConversation}. */
  findConversation(reported?: SessionResume): SessionResume | undefined;
  /** Whether the model's answers fail, so that an agent that talks on makes no progress. */
  isModelFailing(): boolean;
}

export interface UsageOrders {
  stop(reason: StopReason, detail: string): void;
  /** Lines of an earlier time are read: only where they lead to counts. */
  isReplaying(): boolean;
}

/** Caps apply while a run is running (B2): reads what the agent and the model's answers report. */
export function watchUsage(
  rooms: DispatchRooms,
  run: FollowedRun,
  { attempt }: Pick<FollowedParts, 'attempt'>,
  { stop, isReplaying }: UsageOrders,
): UsageWatch {
  const earlier = attempt === 1 ? undefined : findEarlierUse(rooms, run.runId);
  const reportsOnce = run.reportsUsageOnce;
  let seen: ObservedUsage | null = null;
  let lastReported: Usage | undefined;
  let turns = 0;
  let toolCalls = 0;
  let sessionId: string | undefined;
  let enforced = '';

  const count = (reported = lastReported): Usage | undefined =>
    countUsage({ reported, turns, toolCalls, seen, reportsOnce }, rooms.budget.cost);
  const enforce = (): void => {
    if (isReplaying()) return;
    const usage = count() ?? { ...NO_TOKENS, turns, toolCalls };
    const { durationMs: _passes, ...counts } = usage;
    const text = JSON.stringify(counts);
    if (text === enforced) return;
    enforced = text;
    const passed = rooms.budget.follow(run.runId, usage, earlier);
    if (passed !== null) stop('budget', passed.detail);
  };
  const look = (): void => {
    if (!isReplaying()) stopFailing(seen, rooms, stop);
    enforce();
  };
  return {
    count,
    countBeat: createBeatCounter(() => seen, reportsOnce, look),
    findConversation(reported) {
      const conversation = reported ?? (sessionId === undefined ? undefined : { sessionId });
      return unlessUnanswered(conversation, seen?.hasAnswered);
    },
    isModelFailing() {
      return seen !== null && (seen.lastFailure !== null || seen.failedInRow > FEW_FAILURES);
    },
    observe(usage) {
      seen = usage;
      look();
    },
    end() {
      seen &&= withPending(seen);
    },
    get seen() {
      return seen;
    },
    receive(line) {
      lastReported = usageOfLine(line, run.model) ?? lastReported;
      sessionId = line.sessionId ?? sessionId;
      turns = Math.max(turns, line.turns ?? 0);
      toolCalls = Math.max(toolCalls, line.toolCalls ?? 0);
      enforce();
    },
  };
}

function stopFailing(
  seen: ObservedUsage | null,
  { settings }: Pick<DispatchRooms, 'settings'>,
  stop: UsageOrders['stop'],
): void {
  const endless = findEndless(seen, settings.failedAnswers);
  if (endless !== null) stop('failed-answers', endless);
  const unreached = findUnreached(seen, settings.unreachableMs);
  if (unreached !== null) stop('no-connection', unreached);
}

/** So many requests beside the task may fail in a row without a word. */
const FEW_FAILURES = 2;

type BeatCounts = Pick<HeartbeatCounters, 'turns' | 'toolCalls' | 'tokensIn' | 'tokensOut'>;
const NOTHING: BeatCounts = { turns: 0, toolCalls: 0, tokensIn: 0, tokensOut: 0 };

/** Counts what came since the beat before. An agent may wait long before it asks again: each beat looks, too. */
function createBeatCounter(
  read: () => ObservedUsage | null,
  reportsOnce: boolean,
  look: () => void,
): UsageWatch['countBeat'] {
  let beaten = NOTHING;
  return (counters) => {
    look();
    const seen = read();
    if (seen === null) return counters;
    const now = beatCounts(seen);
    const since = beaten;
    beaten = now;
    const currentTool = counters.currentTool ?? seen.openTool;
    return {
      ...counters,
      ...(reportsOnce ? { turns: now.turns - since.turns } : {}),
      toolCalls: now.toolCalls - since.toolCalls,
      tokensIn: Math.max(0, now.tokensIn - since.tokensIn),
      tokensOut: Math.max(0, now.tokensOut - since.tokensOut),
      currentTool,
      waiting: counters.waiting ?? (currentTool === null ? null : 'tool'),
    };
  };
}

function beatCounts({ answers, byModel, toolCalls }: ObservedUsage): BeatCounts {
  return {
    turns: answers,
    toolCalls,
    tokensIn: byModel.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    tokensOut: byModel.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
  };
}

/** A program may ask again and again until its deadline; the user should know within a minute. */
function findUnreached(seen: ObservedUsage | null, limitMs: number): string | null {
  if (seen === null || seen.lastFailure === null || seen.unreachedMs < limitMs) return null;
  return `${seen.lastFailure.detail}, for ${Math.round(seen.unreachedMs / 1000)} s (limits.unreachable). Check the address (endpoint) and your network.`;
}

/** An agent that asks again and again, and gets nothing, does not stop by itself. */
function findEndless(seen: ObservedUsage | null, limit: number): string | null {
  if (seen === null || seen.failedInRow < limit) return null;
  const last = seen.lastFailure === null ? '' : `; at last ${seen.lastFailure.detail}`;
  return `${seen.failedInRow} requests in a row brought no answer of the model (limits.failedAnswers)${last}`;
}

const NO_TOKENS = { models: [], inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
