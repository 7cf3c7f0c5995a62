/** What led to a signal, a compute or a thread. */
import * as z from 'zod/mini';
import { ConfigName as SignalName } from './config-values.ts';

/** A signal that led to another one, the oldest first. */
export const Cause = z.object({ signalId: z.string(), name: z.string(), sense: z.optional(z.string()) });
export type Cause = z.infer<typeof Cause>;
export const MAX_CAUSES = 32;
export const causes = () => z.array(Cause).check(z.maxLength(MAX_CAUSES));

/** Why a compute is made. */
export const ComputeCause = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('interval') }),
  z.object({ kind: z.literal('user') }),
  z.object({ kind: z.literal('signal'), name: SignalName, signalId: z.string(), payload: z.unknown() }),
  z.object({ kind: z.literal('files'), paths: z.array(z.string()).check(z.maxLength(256)) }),
  z.object({ kind: z.literal('run'), runId: z.string(), status: z.string() }),
]);
export type ComputeCause = z.infer<typeof ComputeCause>;

/** What started a thread. */
export const ThreadTrigger = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('signal'), name: SignalName, signalId: z.string(), sense: z.string() }),
  z.object({ kind: z.literal('user') }),
  z.object({
    kind: z.literal('schedule'),
    schedule: z.string(),
    slot: z.string(),
    /** It makes up for a time that was missed. */
    isCatchUp: z.optional(z.boolean()),
  }),
]);
export type ThreadTrigger = z.infer<typeof ThreadTrigger>;
