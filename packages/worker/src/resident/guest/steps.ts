/**
 * The steps of one turn, numbered in the order of their calls. One that is recorded with its outcome is not asked for again;
 * one whose record is of another request means that the role has changed.
 */
import { createHash } from 'node:crypto';
import {
  describeStep,
  isRecord,
  MAX_AWAITED_RUNS,
  MAX_NAME_CHARACTERS,
  MAX_OPTION_CHARACTERS,
  MAX_OPTIONS,
  MAX_PAYLOAD_BYTES,
  MAX_QUESTION_CHARACTERS,
  MAX_REQUEST_BYTES,
  readGuestLine,
  type RecordedStep,
  type StepOutcome,
  type StepRequest,
} from '@caisson/protocol';
import { checkJson, InvalidUse } from './checked-json.ts';
import { describeThrown } from './describe-thrown.ts';
import { createOutcomes } from './outcomes.ts';
import type { Say } from './run-thread.ts';

const MAX_STEPS = 1000;
const MAX_MESSAGE_CHARACTERS = 4000;

/** The bounds of the schema, for the author. */
const NEEDS: Readonly<Record<StepRequest['kind'], string>> = {
  dispatch: 'dispatch(run) and start(run) need an object with the fields of a run',
  wait: `wait(runIds) needs a list of 1 to ${MAX_AWAITED_RUNS} ids that start(…) gave`,
  ask:
    `ask(question, { options, deadlineMs }) needs a text as its question, of 1 to ${MAX_QUESTION_CHARACTERS} characters, ` +
    `at most ${MAX_OPTIONS} options, each a text of at most ${MAX_OPTION_CHARACTERS} characters, and a deadlineMs of at least 0`,
  sleep: 'sleep(ms) needs a number of milliseconds, at least 0',
  value: `step(name, work) needs a name of 1 to ${MAX_NAME_CHARACTERS} characters`,
};

/** The role asks for something else than the record has. */
export class StepsChanged extends Error {}

export interface Steps {
  ask(request: StepRequest): Promise<unknown>;
  /** Runs the work once; its value, or its error, is what the host has recorded. */
  remember(name: string, work: () => unknown): Promise<unknown>;
  settle(ordinal: number, outcome: StepOutcome): void;
  /** The turn is given up: what is open rejects, and nothing more is asked for. */
  abort(why: Error): void;
  /** Whether recorded outcomes are still to come: what is done now was done before. */
  isReplaying(): boolean;
  /** Rejects when the role has changed; else never ends. */
  readonly changed: Promise<never>;
}

export function createSteps(recorded: readonly RecordedStep[], say: Say): Steps {
  const known = new Map(recorded.map((step) => [step.ordinal, step]));
  const outcomes = createOutcomes(recorded);
  let aborted: Error | null = null;
  const change = Promise.withResolvers<never>();
  change.promise.catch(() => undefined);
  let next = 0;
  /** The next step. One that is over already is not asked for again. */
  const begin = (
    request: StepRequest,
  ): { ordinal: number; isOver: boolean; outcome: Promise<StepOutcome> } => {
    if (aborted !== null) throw aborted;
    const ordinal = next++;
    if (ordinal >= MAX_STEPS) throw new InvalidUse(`a role may ask for ${MAX_STEPS} steps at most`);
    const changed = findChange(known.get(ordinal), request);
    if (changed !== null) {
      say({ kind: 'step', ordinal, request }); // the host knows what was asked before, and says what differs
      change.reject(changed);
      throw changed;
    }
    const isOver = outcomes.isKnown(ordinal);
    if (!isOver) say({ kind: 'step', ordinal, request });
    return { ordinal, isOver, outcome: outcomes.next(ordinal) };
  };
  return {
    async ask(asked) {
      return unwrap(await begin(checkRequest(asked)).outcome);
    },
    async remember(name, work) {
      const asked = checkRequest({ kind: 'value', name });
      const { ordinal, isOver, outcome } = begin(asked);
      if (isOver) return unwrap(await outcome);
      outcome.catch(() => undefined); // the turn may be given up while the work is under way
      const { error, ...made } = await perform(name, work);
      say({ kind: 'worked', ordinal, ...made });
      const kept = await outcome;
      if (!made.ok && !kept.ok) throw error;
      return unwrap(kept);
    },
    settle: outcomes.add,
    abort(why) {
      aborted = why;
      outcomes.abort(why);
    },
    isReplaying: outcomes.isReplaying,
    changed: change.promise,
  };
}

function findChange(step: RecordedStep | undefined, request: StepRequest): StepsChanged | null {
  if (step === undefined || step.digest === digestOf(request)) return null;
  const now = describeStep(request).slice(0, 200);
  return new StepsChanged(`step ${step.ordinal} was a ${step.kind} before; now the role asks for ${now}`);
}

/** The request as the host gets it; one that would not arrive there is refused, with what its call needs. */
function checkRequest(asked: StepRequest): StepRequest {
  const { value: request } = checkJson(asked, 'the request', MAX_REQUEST_BYTES);
  if (readGuestLine({ kind: 'step', id: '', ordinal: 0, request }) === null)
    throw new InvalidUse(NEEDS[asked.kind]);
  return request as StepRequest;
}

function digestOf(request: StepRequest): string {
  return createHash('sha256').update(describeStep(request)).digest('hex');
}

/** Its own work, whatever it does. */
async function perform(
  name: string,
  work: () => unknown,
): Promise<Pick<StepOutcome, 'ok' | 'value'> & { readonly error?: unknown }> {
  try {
    const { value } = checkJson(await work(), `the value of the step "${name}"`, MAX_PAYLOAD_BYTES);
    return { ok: true, value };
  } catch (error) {
    return { ok: false, value: messageOf(error), error };
  }
}

function messageOf(thrown: unknown): string {
  return (thrown instanceof Error ? thrown.message : describeThrown(thrown)).slice(0, MAX_MESSAGE_CHARACTERS);
}

function unwrap({ ok, value }: StepOutcome): unknown {
  if (ok) return value;
  const message = isRecord(value) ? value['message'] : value;
  throw new Error(typeof message === 'string' ? message : `the step failed: ${JSON.stringify(value)}`);
}
