/** Messages between an agent and the people behind it, and who decided. */
import * as z from 'zod/mini';
import type { EventTable } from './define-event.ts';
import { Timestamp } from './ids.ts';

/** All that a waiting call was given, redacted, as a blob of text. */
const StoredCall = z.object({
  ref: z.string(),
  characters: z.int(),
  /** Characters of the call that were too many for it; the text has a mark in their place. */
  leftOut: z.int(),
});

export const conversationEvents = {
  'question.asked': {
    version: 1,
    durable: true,
    summary: 'A durable question exists.',
    data: z.object({
      questionId: z.string(),
      text: z.string(),
      options: z.optional(z.array(z.string())),
      context: z.optional(z.unknown()),
      partialState: z.optional(z.unknown()),
      deadlineAt: z.optional(Timestamp),
    }),
  },
  'question.answered': {
    version: 1,
    durable: true,
    summary: 'A question was answered, once.',
    data: z.object({ questionId: z.string(), answer: z.string(), continuedBy: z.optional(z.string()) }),
  },
  'question.expired': {
    version: 1,
    durable: true,
    summary: "A question's deadline passed without an answer.",
    data: z.object({ questionId: z.string() }),
  },
  'approval.requested': {
    version: 1,
    durable: true,
    summary: 'A tool call waits until a person decides.',
    data: z.object({
      approvalId: z.string(),
      tool: z.string(),
      what: z.string(),
      actionClass: z.string(),
      deadlineAt: Timestamp,
      /** The worker's own id of its request. */
      requestId: z.optional(z.string()),
      call: z.optional(StoredCall),
    }),
  },
  'approval.decided': {
    version: 1,
    durable: true,
    summary: 'A waiting tool call was allowed or denied.',
    data: z.object({
      approvalId: z.string(),
      decision: z.enum(['allow', 'deny']),
      by: z.enum(['user', 'deadline', 'ending']),
    }),
  },
  'channel.sent': {
    version: 1,
    durable: true,
    summary: 'A message was sent to the running worker.',
    data: z.object({ messageId: z.string(), body: z.string() }),
  },
  'channel.received': {
    version: 1,
    durable: true,
    summary: 'The worker put the message where the agent can read it.',
    data: z.object({ messageId: z.string() }),
  },
  'visitor.acted': {
    version: 1,
    durable: true,
    summary:
      'A person or a program decided about work or about the daemon; recorded before it was done, where the ledger could record: orders that stop or reload are obeyed without it. With dispatch: who started this run.',
    data: z.object({
      /** The name of the token, `dashboard`, or the account whose command or program it was. */
      by: z.string(),
      /** Its id, where it came over TCP. */
      token: z.optional(z.string()),
      /** The program, by the name that it gave itself: `mcp: claude-code`. */
      client: z.optional(z.string()),
      /** As the API names it, for example `decide` or `apply`; `stop` and `reload` are of the daemon. */
      operation: z.string(),
      /** What it was about: a run, an approval, a question. */
      target: z.optional(z.string()),
      /** Of a call that waited. Which one counted is in `approval.decided`. */
      decision: z.optional(z.enum(['allow', 'deny'])),
    }),
  },
} as const satisfies EventTable;
