import * as z from 'zod/mini';
import { Sha256 } from './ids.ts';

const count = () => z.int().check(z.nonnegative());

/** Hand-off v1: the validated report of a task done on its own branch. */
export const Handoff = z.object({
  taskId: z.string(),
  status: z.enum(['complete', 'partial', 'blocked', 'failed']),
  verdict: z.string(),
  summary: z.string(),
  diffRef: z.optional(Sha256),
  filesChanged: z.array(z.string()),
  outOfScope: z.array(z.string()),
  concerns: z.array(z.string()),
  suggestions: z.array(z.string()),
  branch: z.string(),
  baseCommit: z.string(),
  headCommit: z.string(),
  metrics: z.object({
    linesAdded: count(),
    linesRemoved: count(),
    filesCreated: count(),
    filesModified: count(),
    tokensUsed: count(),
    toolCallCount: count(),
    durationMs: z.number(),
  }),
});
export type Handoff = z.infer<typeof Handoff>;
