/**
 * Counts what the model's answers say they used, as they pass, and remembers how they ended. What an answer did not say,
 * because it was cut off, names no usage or cannot be read, is estimated when it has ended, and known as an estimate.
 */
import type { Transform } from 'node:stream';
import type { Clock } from '@caisson/ground';
import type { ModelCall, ModelError, ObservedUsage, TokenCounts } from '@caisson/protocol';
import {
  createAnswerReader,
  createBlindReader,
  type AnswerEnd,
  type AnswerListener,
} from './answer-reader.ts';
import type { WatchedUsage } from './contract.ts';
import { createCountedAnswer, plusTokens, type CountedAnswer } from './counted-answer.ts';
import { createKeepLimit, type KeepLimit } from './kept-bytes.ts';
import { createModelReach, type ModelReach } from './model-reach.ts';
import { createModelStanding, type Outcome } from './model-standing.ts';
import { errorOfStatus } from './read-error.ts';
import { Tally } from './usage-tally.ts';

const MAX_NAME = 200;
const MAX_DETAIL = 1000;

export interface UsageCounter extends WatchedUsage {
  /** A request that a model answers; its path is normalised. */
  ask(path: string): CountedRequest;
  /** No answer will end any more: what is under way is estimated as it is. */
  close(): void;
}

export interface CountedRequest {
  /** A piece of the request's body. */
  send(chunk: Buffer): void;
  /** The request is complete. */
  sentAll(): void;
  /**
   * The answer's head arrived. Returns a stream for its body, or null when nothing was charged. `isReadable`: the body
   * is decoded before.
   */
  answered(status: number, contentType: string, isReadable: boolean): Transform | null;
  /**
   * The client has everything that it gets, or disconnected; if it has everything and no answer came, nothing was
   * charged.
   */
  closed(hasAll: boolean): void;
  connected(): void;
  /** No connection to the model was possible. */
  unreached(why: string): void;
}

/** `redact` removes keys that a server put into a name or into the reason for a failure. */
export function createUsageCounter(
  clock: Clock,
  redact: (text: string) => string = (text) => text,
): UsageCounter {
  const open = new Set<OpenRequest>();
  const tidy = (text: string, maxCharacters = MAX_NAME): string =>
    redact(text).slice(0, maxCharacters).toWellFormed();
  const tally = new Tally(tidy);
  const standing = createModelStanding(clock);
  const reach = createModelReach(clock);
  // Two limits: large requests do not make an answer unreadable.
  const kept = { requests: createKeepLimit(), answers: createKeepLimit() };
  const counter: UsageCounter = {
    onChange: () => undefined,
    onGrowth: () => undefined,
    onCall: () => undefined,
    read() {
      const { openTool, ...rest } = standing.read();
      return {
        ...tally.read(standing.underWay),
        pending: listPending(open, tidy),
        ...rest,
        openTool: openTool === null ? null : tidy(openTool),
        unreachedMs: reach.unreachedMs(),
      };
    },
    close() {
      for (const { leave } of open) leave();
    },
    ask(path) {
      const startedMs = clock.monotonicMs();
      const ended = (call: Omit<ModelCall, 'durationMs'>): void => {
        const durationMs = Math.round(clock.monotonicMs() - startedMs);
        counter.onCall({ ...call, model: tidy(call.model), durationMs });
        counter.onChange();
      };
      const counted = countRequest(
        {
          ...{ tally, standing, reach, kept, startedMs, open, ended },
          tidy: (text) => tidy(text, MAX_DETAIL),
          changed: () => counter.onChange(),
          grew: () => counter.onGrowth(),
        },
        path,
      );
      counter.onChange();
      return counted;
    },
  };
  return counter;
}

/** A request that is under way. */
interface OpenRequest {
  /** Ends it as one whose client went away. */
  leave(): void;
  readonly answer: CountedAnswer;
}

const MAX_PENDING = 32;

function listPending(
  open: ReadonlySet<OpenRequest>,
  tidy: (text: string) => string,
): ObservedUsage['pending'] {
  return [...open]
    .slice(0, MAX_PENDING)
    .flatMap(({ answer }) => answer.estimate(false) ?? [])
    .map((estimate) => ({ ...estimate, model: tidy(estimate.model) }));
}

interface Counting {
  readonly tally: Tally;
  readonly standing: ReturnType<typeof createModelStanding>;
  readonly reach: ModelReach;
  readonly kept: { readonly requests: KeepLimit; readonly answers: KeepLimit };
  readonly startedMs: number;
  readonly open: Set<OpenRequest>;
  /** A reason without secrets, and short. */
  tidy(text: string): string;
  changed(): void;
  grew(): void;
  ended(call: Omit<ModelCall, 'durationMs'>): void;
}

function countRequest(counting: Counting, path: string): CountedRequest {
  const { tally, standing, reach, kept, startedMs, open, tidy, changed, ended } = counting;
  const isAlone = standing.underWay === 0;
  standing.begin();
  const answer = createGrowingAnswer(counting, path);
  let ordinal: number | null = null;
  let canBeRead = true;
  let problem = 'no answer came from the model';
  // What is asked beside something else is for the task if it offers tools: a title or a summary offers none.
  const isForTask = (): boolean => isAlone || answer.offersTools();
  const end = once((how: AnswerEnd, outcome: Outcome, isCharged: boolean) => {
    open.delete(request);
    answer.sentAll();
    const estimate = isCharged ? tally.estimate(answer, how === 'whole') : null;
    if (ordinal !== null && how !== 'whole') tally.cut += 1;
    if (answer.stop === 'refusal') tally.refusals += 1;
    if (ordinal !== null && ordinal === tally.lastForTask) tally.lastStop = answer.stop;
    standing.end(outcome);
    ended(describeCall(answer, estimate, outcome));
  });
  const fail = (cause: ModelError, detail: string): Outcome => {
    return { kind: 'failed', cause, detail, isForTask: answer.offersTools };
  };
  const request = { answer, leave: () => end('left', { kind: 'left' }, true) };
  open.add(request);
  const listener: AnswerListener = {
    receive: answer.receive,
    miss: answer.miss,
    end: (how) => end(how, outcomeOf(how, answer, { canBeRead, fail }), true),
  };
  return {
    send: answer.send,
    sentAll: answer.sentAll,
    connected: reach.connected,
    unreached(why) {
      reach.unreached(startedMs);
      problem = tidy(`the model could not be reached: ${why}`);
    },
    // Without an answer these were our own words; a client that went away may have left one to be paid for.
    closed(hasAll) {
      if (hasAll && ordinal === null) end('whole', fail('no-connection', problem), false);
      else request.leave();
    },
    answered(status, contentType, isReadable) {
      if (status < 200 || status > 299) {
        end('whole', fail(errorOfStatus(status), `the model answered with HTTP ${status}`), false);
        return null;
      }
      canBeRead = isReadable;
      ordinal = tally.answers += 1;
      if (isForTask()) tally.beginForTask(ordinal);
      changed();
      return isReadable
        ? createAnswerReader(contentType, listener, kept.answers)
        : createBlindReader(listener);
    },
  };
}

/** Reports whatever adds to its counts or to its estimate. */
function createGrowingAnswer({ tally, standing, kept, grew }: Counting, path: string): CountedAnswer {
  const counts = {
    add(model: string, more: TokenCounts) {
      tally.add(model, more);
      grew();
    },
    called() {
      standing.called();
      grew();
    },
    sent: grew,
  };
  return createCountedAnswer(path, counts, kept.requests);
}

function describeCall(
  { model, said }: CountedAnswer,
  estimate: TokenCounts | null,
  outcome: Outcome,
): Omit<ModelCall, 'durationMs'> {
  const tokens = estimate === null ? said : plusTokens(said, estimate);
  return {
    model,
    tokens: {
      input: tokens.inputTokens,
      output: tokens.outputTokens,
      cacheRead: tokens.cacheReadTokens,
      cacheWrite: tokens.cacheWriteTokens,
    },
    ...(estimate === null ? {} : { isEstimate: true }),
    outcome: outcome.kind,
    ...(outcome.kind === 'failed' ? { detail: outcome.detail } : {}),
  };
}

function outcomeOf(
  how: AnswerEnd,
  { error, calls, isEmpty, offersTools }: CountedAnswer,
  { canBeRead, fail }: { canBeRead: boolean; fail: (cause: ModelError, detail: string) => Outcome },
): Outcome {
  if (how === 'left') return { kind: 'left' };
  if (error !== null) return fail(error, 'the model ended its answer with an error');
  if (how === 'cut') return fail('stream-cut', 'the answer of the model was cut off');
  return isEmpty && canBeRead ? { kind: 'empty' } : { kind: 'answered', calls, isForTask: offersTools };
}

function once<A extends unknown[]>(work: (...values: A) => void): (...values: A) => void {
  let isDone = false;
  return (...values) => {
    if (!isDone) work(...values);
    isDone = true;
  };
}
