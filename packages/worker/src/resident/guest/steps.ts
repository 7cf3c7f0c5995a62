/**
 * The steps of one turn, numbered in the order of their calls. One that is recorded with its outcome is not asked for again;
 * one whose record is of another request means that the role has changed.
 */
import { createHash } from 'node:crypto';
import {
  describeStep,
  isRecord,
  MAX_PAYLOAD_BYTES,
  type RecordedStep,
  type StepRequest,
} from '@caisson/protocol';
import { checkJson, InvalidUse } from './checked-json.ts';
import type { Say } from './run-thread.ts';

const MAX_STEPS = 1000;
/** A request with a task may be longer than a message. */
const MAX_REQUEST_BYTES = 256 * 1024;

/** The role asks for something else than the record has. */
export class StepsChanged extends Error {}

interface Outcome {
  readonly ok: boolean;
  readonly value: unknown;
}

export interface Steps {
  ask(request: StepRequest): Promise<unknown>;
  /** Runs the work once; its value is what the host has recorded. */
  remember(name: string, work: () => unknown): Promise<unknown>;
  settle(done: Outcome & { readonly ordinal: number }): void;
  /** The turn is given up: what is open rejects, and nothing more is asked for. */
  abort(why: Error): void;
  /** Whether recorded outcomes are still to come: what is done now was done before. */
  isReplaying(): boolean;
  /** Rejects when the role has changed; else never ends. */
  readonly changed: Promise<never>;
}

export function createSteps(recorded: readonly RecordedStep[], say: Say): Steps {
  const known = new Map(recorded.map((step) => [step.ordinal, step]));
  const open = new Map<number, PromiseWithResolvers<Outcome>>();
  let aborted: Error | null = null;
  const change = Promise.withResolvers<never>();
  change.promise.catch(() => undefined);
  let left = recorded.filter(({ outcome }) => outcome !== undefined).length;
  let next = 0;

  /** The recorded outcome of the next step, if there is one. */
  const begin = (request: StepRequest): { ordinal: number; outcome: Outcome | undefined } => {
    if (aborted !== null) throw aborted;
    const ordinal = next++;
    if (ordinal >= MAX_STEPS) throw new InvalidUse(`a role may ask for ${MAX_STEPS} steps at most`);
    const step = known.get(ordinal);
    if (step !== undefined && step.digest !== digestOf(request)) {
      const error = new StepsChanged(
        `step ${ordinal} was a ${step.kind} before; now the role asks for ${describeStep(request).slice(0, 200)}`,
      );
      change.reject(error);
      throw error;
    }
    if (step?.outcome !== undefined) left -= 1;
    return { ordinal, outcome: step?.outcome };
  };
  const request = (ordinal: number, what: StepRequest): Promise<Outcome> => {
    if (aborted !== null) return Promise.reject(aborted);
    const answer = Promise.withResolvers<Outcome>();
    open.set(ordinal, answer);
    say({ kind: 'step', ordinal, request: what });
    return answer.promise;
  };
  return {
    async ask(asked) {
      const checked = checkJson(asked, 'the request', MAX_REQUEST_BYTES).value as StepRequest;
      const { ordinal, outcome } = begin(checked);
      return unwrap(outcome ?? (await request(ordinal, checked)));
    },
    async remember(name, work) {
      const { ordinal, outcome } = begin({ kind: 'value', name, value: null });
      if (outcome !== undefined) return unwrap(outcome);
      const { value } = checkJson(await work(), `the value of the step "${name}"`, MAX_PAYLOAD_BYTES);
      return unwrap(await request(ordinal, { kind: 'value', name, value }));
    },
    settle({ ordinal, ok, value }) {
      open.get(ordinal)?.resolve({ ok, value });
      open.delete(ordinal);
    },
    abort(why) {
      aborted = why;
      for (const { reject } of open.values()) reject(why);
      open.clear();
    },
    isReplaying: () => left > 0,
    changed: change.promise,
  };
}

function digestOf(request: StepRequest): string {
  return createHash('sha256').update(describeStep(request)).digest('hex');
}

function unwrap({ ok, value }: Outcome): unknown {
  if (ok) return value;
  const message = isRecord(value) ? value['message'] : value;
  throw new Error(typeof message === 'string' ? message : `the step failed: ${JSON.stringify(value)}`);
}
