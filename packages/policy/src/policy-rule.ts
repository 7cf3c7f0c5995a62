import * as z from 'zod/mini';

const reason = () =>
  z
    .string()
    .check(
      z.minLength(1),
      z.maxLength(500),
      z.describe('shown to the agent and in the record when the rule stops something'),
    );

/** A rule about files: `no-access` < `read-only` < `no-delete`. */
export const PathRule = z.strictObject({
  path: z
    .string()
    .check(
      z.minLength(1),
      z.maxLength(1000),
      z.describe('glob, relative to the workspace unless absolute or ~/'),
    ),
  action: z.enum(['no-access', 'read-only', 'no-delete']),
  reason: reason(),
});
export type PathRule = z.infer<typeof PathRule>;

/** A rule about commands; `*` stands for any text, and further words may follow. */
export const CommandRule = z.strictObject({
  command: z
    .string()
    .check(
      z.minLength(1),
      z.maxLength(1000),
      z.describe('the command as words, such as "npm publish" or "docker * prune"'),
    ),
  action: z.literal('deny'),
  reason: reason(),
});
export type CommandRule = z.infer<typeof CommandRule>;

/** One entry of `policy.rules` in caisson.yaml. Rules only forbid; none makes a decision milder. */
export const PolicyRule = z.union([PathRule, CommandRule]);
export type PolicyRule = z.infer<typeof PolicyRule>;
