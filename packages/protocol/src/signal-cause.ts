/** What led to a signal. */
import * as z from 'zod/mini';

/** A signal that led to another one, the oldest first. */
export const Cause = z.object({ signalId: z.string(), name: z.string(), sense: z.optional(z.string()) });
export type Cause = z.infer<typeof Cause>;
export const MAX_CAUSES = 32;
export const causes = () => z.array(Cause).check(z.maxLength(MAX_CAUSES));
