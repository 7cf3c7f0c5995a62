import * as z from 'zod/mini';
import { Timestamp } from './ids.ts';

/** What should be done. */
export const Task = z.object({
  id: z.string().check(z.minLength(1), z.maxLength(128)),
  description: z.string().check(z.maxLength(1_048_576)),
  scope: z.array(z.string().check(z.maxLength(1024))).check(z.maxLength(256)),
  acceptance: z.optional(z.string().check(z.maxLength(65_536))),
  branch: z.optional(z.string().check(z.maxLength(255))),
  priority: z.int().check(z.gte(1), z.lte(10)),
  dependsOn: z.array(z.string()).check(z.maxLength(256)),
  status: z.enum(['pending', 'assigned', 'running', 'complete', 'failed', 'cancelled']),
  createdAt: Timestamp,
});
export type Task = z.infer<typeof Task>;

export const DEFAULT_PRIORITY = 5;
