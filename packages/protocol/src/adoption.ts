/**
 * How the next host takes over a running worker: over the attempt's control socket, one JSON value a line. It sends a
 * claim and gets an answer; then it gets the worker's lines from the first on, and its control messages go the other way.
 */
import * as z from 'zod/mini';

/** A host adopts only workers that speak a version it knows. */
export const ADOPTION_VERSION = 1;

/** Who owned a run first; each adoption counts one up. */
export const FIRST_EPOCH = 1;

/** The nonce proves that the host can read the ledger; a higher epoch, that it owns the run after the one before. */
export const AdoptionClaim = z.object({
  kind: z.literal('adopt'),
  version: z.int(),
  nonce: z.string(),
  epoch: z.int(),
  hostPid: z.int(),
});
export type AdoptionClaim = z.infer<typeof AdoptionClaim>;

/** What the host before knew, and no file has. */
export const Handover = z.object({
  /** Resolved secrets, to be redacted. */
  secrets: z.array(z.object({ name: z.string(), value: z.string() })),
  /** Lines that the worker has written so far; they come first. */
  lines: z.int(),
  /** Its requests to the host that have no answer yet, and for how long, by its own monotonic clock. */
  requests: z.array(z.object({ id: z.string(), waitedMs: z.number() })),
  /** How long it has been at work, by its own monotonic clock. */
  elapsedMs: z.number(),
});
export type Handover = z.infer<typeof Handover>;

export const AdoptionAnswer = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), handover: Handover }),
  z.object({ ok: z.literal(false), why: z.string() }),
]);
export type AdoptionAnswer = z.infer<typeof AdoptionAnswer>;

/** Of an attempt whose worker goes on without its host: what the next host needs to know of it. */
export const Adoptable = z.object({
  version: z.int(),
  /** For so long the worker waits for its next host. */
  withinMs: z.number(),
  timeoutMs: z.number(),
  stallTimeoutMs: z.nullable(z.number()),
  /** Whether the agent reports its usage only at its end. */
  reportsUsageOnce: z.optional(z.literal(true)),
});
export type Adoptable = z.infer<typeof Adoptable>;
