/** Messages between an agent and the people behind it. */
import * as z from 'zod/mini';
import type { EventTable } from './define-event.ts';
import { Timestamp } from './ids.ts';

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
} as const satisfies EventTable;
