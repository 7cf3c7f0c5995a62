import * as z from 'zod/mini';
import { Timestamp } from './ids.ts';

/** A durable needs_input, as `caisson questions -o json` and the library list it. */
export const Question = z.object({
  questionId: z.string(),
  /** Who asked: a run, or a thread. */
  runId: z.string(),
  /** The same id, where a thread of a workflow asked. */
  threadId: z.optional(z.string()),
  attempt: z.int(),
  status: z.enum(['open', 'answered', 'expired']),
  text: z.string(),
  options: z.optional(z.readonly(z.array(z.unknown()))),
  context: z.optional(z.unknown()),
  partialState: z.optional(z.unknown()),
  askedAt: Timestamp,
  /** Its place in the ledger. */
  askedOffset: z.int(),
  deadlineAt: z.optional(z.string()),
  answer: z.optional(z.unknown()),
  /** The run that continues with the answer. */
  continuedBy: z.optional(z.string()),
  closedAt: z.optional(Timestamp),
});
export type Question = z.infer<typeof Question>;
