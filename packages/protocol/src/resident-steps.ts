/** The steps of a role: what it asks the host for, and what is recorded of it. */
import * as z from 'zod/mini';
import {
  MAX_AWAITED_RUNS,
  MAX_NAME_CHARACTERS,
  MAX_OPTION_CHARACTERS,
  MAX_OPTIONS,
  MAX_QUESTION_CHARACTERS,
} from './resident-limits.ts';

const ms = () => z.number().check(z.nonnegative());
const name = () => z.string().check(z.minLength(1), z.maxLength(MAX_NAME_CHARACTERS));

/** What a role asks the host to do, durably: once done, it is not done again when the role is repeated. */
export const StepRequest = z.discriminatedUnion('kind', [
  /** Starts a run; with `waits` the answer comes with its ending. */
  z.object({ kind: z.literal('dispatch'), request: z.record(z.string(), z.unknown()), waits: z.boolean() }),
  /** Waits for the endings of runs that this thread has started. */
  z.object({
    kind: z.literal('wait'),
    runIds: z.array(z.string()).check(z.minLength(1), z.maxLength(MAX_AWAITED_RUNS)),
  }),
  z.object({
    kind: z.literal('ask'),
    question: z.string().check(z.minLength(1), z.maxLength(MAX_QUESTION_CHARACTERS)),
    options: z.optional(
      z.array(z.string().check(z.maxLength(MAX_OPTION_CHARACTERS))).check(z.maxLength(MAX_OPTIONS)),
    ),
    deadlineMs: z.optional(ms()),
  }),
  z.object({ kind: z.literal('sleep'), ms: ms() }),
  /** The user's own code begins; `worked` says with which value, to be remembered. */
  z.object({ kind: z.literal('value'), name: name() }),
]);
export type StepRequest = z.infer<typeof StepRequest>;

/** How a step ended, and when, as its role saw it: a role that is repeated gets the same outcomes at the same points. */
export const StepOutcome = z.object({
  ok: z.boolean(),
  value: z.unknown(),
  /** How many steps of the round had ended before it. Absent, as `asked`: it does not wait for others. */
  place: z.optional(z.int().check(z.nonnegative())),
  /** How many steps the role had asked for by then, at least. */
  asked: z.optional(z.int().check(z.nonnegative())),
});
export type StepOutcome = z.infer<typeof StepOutcome>;

/**
 * A step that was asked for; `outcome` once it is over. A role that is repeated and comes to one without an outcome asks for
 * it again, with the same ordinal, and waits: the host carries it on and does not repeat it.
 */
export const RecordedStep = z.object({
  ordinal: z.int().check(z.nonnegative()),
  kind: z.enum(['dispatch', 'wait', 'ask', 'sleep', 'value']),
  /** sha256 of the canonical request: a role that asks for something else in its place has changed. */
  digest: z.string(),
  outcome: z.optional(StepOutcome),
});
export type RecordedStep = z.infer<typeof RecordedStep>;
