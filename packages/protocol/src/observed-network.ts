/** What the network of an attempt sees and reports: its connections, its model's answers, and what they used. */
import * as z from 'zod/mini';
import { MODEL_APIS } from './runtimes.ts';

const count = () => z.int().check(z.nonnegative());

/** One connection through the proxy or the broker. */
export const connectionFields = () => ({
  via: z.enum(['connect', 'http', 'broker']),
  target: z.string(),
  verdict: z.enum(['allowed', 'denied', 'failed']),
  detail: z.optional(z.string()),
  bytesUp: z.int(),
  bytesDown: z.int(),
  durationMs: z.number(),
});

/** One request to the model that has ended; texts are redacted and short. */
export const modelCallFields = () => ({
  model: z.string().check(z.maxLength(256)),
  /** Which wire format it was asked in; absent in older records. */
  api: z.optional(z.enum(MODEL_APIS)),
  tokens: z.object({ input: z.int(), output: z.int(), cacheRead: z.int(), cacheWrite: z.int() }),
  /** The answer did not report all of it. */
  isEstimate: z.optional(z.literal(true)),
  durationMs: z.number(),
  outcome: z.enum(['answered', 'empty', 'failed', 'left']),
  detail: z.optional(z.string().check(z.maxLength(1024))),
});

const ModelCall = z.object(modelCallFields());
export type ModelCall = z.infer<typeof ModelCall>;

/**
 * Why a request brought no answer that an agent can use. `api-error` is any other error of the API, `stream-cut` an
 * answer that broke off, `no-connection` none at all.
 */
const ModelError = z.enum(['auth', 'overloaded', 'rate-limit', 'api-error', 'stream-cut', 'no-connection']);
export type ModelError = z.infer<typeof ModelError>;

/** Why an answer ended before the model was done. */
const EarlyStop = z.enum(['refusal', 'max-tokens']);
export type EarlyStop = z.infer<typeof EarlyStop>;

/** A server's numbers are not limited here: what they add up to may be more than a whole number can say. */
const tokenFields = () => ({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cacheReadTokens: z.number(),
  cacheWriteTokens: z.number(),
});
const TokenCounts = z.object(tokenFields());
export type TokenCounts = z.infer<typeof TokenCounts>;

/**
 * What the broker saw of a model: what its answers used, as they said it when they passed and by an estimate where they
 * did not, and how they ended. It has seen every answer, so it is the truth for every runtime. Times are those of the
 * moment at which it was read.
 */
export const ObservedUsage = z.object({
  /** Answers that the model began. */
  answers: count(),
  /** Requests under way; nothing is estimated for them yet. */
  underWay: count(),
  /** The part of the counts below that no answer reported, and how many answers that concerns. */
  estimated: z.object({ answers: count(), inputTokens: z.number(), outputTokens: z.number() }),
  /** Every answer ended and reported its usage: the counts are complete. */
  isWhole: z.boolean(),
  /** Answers in which the model refused to continue. */
  refusals: count(),
  /** Why the latest answer ended early, if it did and was not one of several. */
  lastStop: z.nullable(EarlyStop),
  /** Why the latest request of the task brought no usable answer; null once one did. */
  lastFailure: z.nullable(z.object({ cause: ModelError, detail: z.string() })),
  /** Whether the model has given one answer at least that an agent can use. */
  hasAnswered: z.boolean(),
  /** How many requests failed since the task's last usable answer. */
  failedInRow: count(),
  /** For how long no connection to the model was possible; 0 if the last one was. */
  unreachedMs: z.number(),
  /** Calls of tools in all answers, also while they come. */
  toolCalls: count(),
  /** The tool that the latest answer called, until the model is asked again. */
  openTool: z.nullable(z.string()),
  /** Time in which at least one request was under way. */
  modelMs: z.number(),
  byModel: z.array(z.object({ model: z.string(), ...tokenFields() })).check(z.maxLength(32)),
  /** What requests under way would be charged if they ended now; for a worker that cannot report their end. */
  pending: z
    .array(z.object({ model: z.string(), inputTokens: z.number(), outputTokens: z.number() }))
    .check(z.maxLength(32)),
});
export type ObservedUsage = z.infer<typeof ObservedUsage>;
