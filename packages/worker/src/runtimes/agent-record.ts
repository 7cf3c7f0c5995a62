// What a stream has reported so far, and the one rule that turns it into an ending.
//
// 1. A failure that the agent's events report wins, whatever the exit code.
// 2. An agent that concluded with a reply has answered, unless it then exited with its own code. (A signal after the
//    conclusion is ours: it exceeded the grace window.)
// 3. A conclusion without a reply is `tool-failure` if the last tool failed, else `empty-answer`.
// 4. Without a conclusion it is the problem that the agent last reported and was still retrying, else
//    `output-broke-off` if it left half a line, else what stderr names unambiguously, else `interrupted` by a signal,
//    else `crash` or `exit-code`.

import type { AgentCause } from '@caisson/protocol';
import { findCauseOnStderr } from './agent-cause.ts';
import type { AgentEnding, AgentExit, AgentSignal } from './contract.ts';

const MAX_STDERR = 1000;
const MAX_DRIFTS = 20;

export interface Failure {
  readonly cause: AgentCause;
  readonly detail: string;
}

/** An answer that ended at the maximum number of tokens; it is final unless the agent continues. */
export const CUT_ANSWER: Failure = {
  cause: 'max-tokens',
  detail: 'the last answer was cut at the maximum number of tokens',
};

export interface AgentRecord {
  failure: Failure | null;
  /** The request that the agent wants to retry. Cleared by the next answer of the model. */
  trouble: Failure | null;
  isConcluded: boolean;
  /** The last line was the beginning of an event and no more. */
  isCutOff: boolean;
  reply: string;
  hasLastToolFailed: boolean;
}

export const createRecord = (): AgentRecord => ({
  failure: null,
  trouble: null,
  isConcluded: false,
  isCutOff: false,
  reply: '',
  hasLastToolFailed: false,
});

/** Marks the conclusion and reports it, once. */
export function conclude(record: AgentRecord): readonly AgentSignal[] {
  if (record.isConcluded) return [];
  record.isConcluded = true;
  return [{ kind: 'concluded' }];
}

/** The agent's own report of a failure. The first one counts. */
export function concludeFailed(record: AgentRecord, failure: Failure): readonly AgentSignal[] {
  record.failure ??= failure;
  return conclude(record);
}

export function resolveEnding(record: AgentRecord, exit: AgentExit): AgentEnding {
  const reply = record.reply;
  const failed = (cause: AgentCause, detail: string): AgentEnding => ({
    kind: 'failed',
    cause,
    detail: detail.trim(),
    ...(reply === '' ? {} : { reply }),
  });
  if (record.failure !== null) return failed(record.failure.cause, record.failure.detail);
  const hasOwnCode = exit.code !== null && exit.code !== 0;
  if (!record.isConcluded && record.trouble !== null)
    return failed(record.trouble.cause, record.trouble.detail);
  if (!record.isConcluded && record.isCutOff && exit.code === 0)
    return failed('output-broke-off', 'the agent exited with code 0 in the middle of a line of its output');
  if (!record.isConcluded) return failed(causeOfExit(exit), describeExit(exit));
  if (hasOwnCode) return failed('exit-code', describeExit(exit));
  if (reply.trim() !== '') return { kind: 'answered', reply };
  return record.hasLastToolFailed
    ? failed('tool-failure', 'the last tool call failed and the agent gave no answer')
    : failed('empty-answer', 'the agent ended without an answer');
}

function causeOfExit(exit: AgentExit): AgentCause {
  if (exit.signal === 'SIGTERM' || exit.signal === 'SIGINT' || exit.signal === 'SIGHUP') return 'interrupted';
  if (exit.signal !== null) return 'crash';
  return (
    findCauseOnStderr(exit.stderrTail) ??
    (exit.code === 0 ? 'empty-answer' : exit.code === null ? 'crash' : 'exit-code')
  );
}

function describeExit({ code, signal, stderrTail }: AgentExit): string {
  const how = signal === null ? `exited with code ${code ?? 'unknown'}` : `was ended by ${signal}`;
  const tail = stderrTail.trim().slice(-MAX_STDERR);
  return tail === '' ? `the agent ${how} before it concluded` : `the agent ${how}: ${tail}`;
}

/** Reports each unknown thing once, up to a limit. */
export function createDriftReporter(): (detail: string) => readonly AgentSignal[] {
  const known = new Set<string>();
  return (detail) => {
    if (known.has(detail) || known.size >= MAX_DRIFTS) return [];
    known.add(detail);
    return [{ kind: 'drift', detail }];
  };
}
