/** How far a run under way is. `live-count.ts` adds it up. */
import * as z from 'zod/mini';
import { Timestamp } from './ids.ts';
import { HealthState, runEvents } from './run-events.ts';

const count = () => z.int().check(z.nonnegative());

export const RUN_PHASES = [
  'queued',
  'preparing',
  'starting',
  'setup',
  'working',
  'verifying',
  'capturing',
  'settling',
  'retrying',
] as const;

/** What a run under way does now. */
export const LiveRun = z.object({
  phase: z.enum(RUN_PHASES),
  /** Since when it is in that phase. */
  since: Timestamp,
  attempt: z.int(),
  /** The newest tool call that has not ended, and how many others have not. */
  tool: z.optional(z.object({ name: z.string(), what: z.string(), since: Timestamp, others: count() })),
  /** All attempts together. */
  turns: count(),
  toolCalls: count(),
  tokens: count(),
  /** Absent is unknown. */
  costUsd: z.optional(z.number()),
  /** Of one core, between the last two heartbeats; and the memory of its processes. Absent before a heartbeat. */
  cpuPercent: z.optional(z.number()),
  memoryBytes: z.optional(count()),
  health: HealthState,
  /** Why it makes no progress; absent while it makes some. */
  stall: z.optional(
    z.object({ reason: runEvents['run.stalled'].data.shape.reason, detail: z.string(), since: Timestamp }),
  ),
  /** The branch that was asked for. */
  branch: z.optional(z.string()),
  /** Why its ending cannot be settled yet. */
  note: z.optional(z.string()),
  /** Its daemon is gone: the agent goes on, and waits for the next one. */
  isAlone: z.optional(z.literal(true)),
  /** `ledger`: the host did not answer in time, and this is what is recorded. */
  source: z.enum(['host', 'ledger']),
});
export type LiveRun = z.infer<typeof LiveRun>;
export type RunPhase = LiveRun['phase'];

/** What a run waits for a person to say. */
export const WaitsFor = z.object({
  kind: z.enum(['question', 'approval']),
  id: z.string(),
  text: z.string(),
  deadlineAt: z.optional(Timestamp),
});
export type WaitsFor = z.infer<typeof WaitsFor>;
