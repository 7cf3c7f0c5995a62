/** What may come over a host's socket, and its limits. */
import * as z from 'zod/mini';

const MAX_NAME = 256;
const MAX_TYPES = 100;
/** The most runs that one follower can name; who wants more follows everything. */
export const MAX_FOLLOWED_RUNS = 1000;

const name = () => z.string().check(z.maxLength(MAX_NAME));

/** An order that gets one answer. */
export const HostOrder = z.object({
  kind: z.enum(['cancel', 'send', 'decide', 'ping', 'state']),
  runId: z.optional(name()),
  force: z.optional(z.boolean()),
  interrupt: z.optional(z.boolean()),
  body: z.optional(z.string()),
  approvalId: z.optional(name()),
  decision: z.optional(z.enum(['allow', 'deny'])),
  /** `state`: of these runs. */
  runs: z.optional(z.array(name()).check(z.maxLength(MAX_FOLLOWED_RUNS))),
});
export type HostOrder = z.infer<typeof HostOrder>;

/** Asks for the live events of a host, as they happen: of all its runs, or of these; of all types, or of these. */
export const FollowOrder = z.object({
  kind: z.literal('follow'),
  runs: z.optional(z.array(name()).check(z.maxLength(MAX_FOLLOWED_RUNS))),
  types: z.optional(z.array(name()).check(z.maxLength(MAX_TYPES))),
});
export type FollowOrder = z.infer<typeof FollowOrder>;

export const AnyOrder = z.discriminatedUnion('kind', [HostOrder, FollowOrder]);
