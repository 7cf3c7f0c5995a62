/** The rules of `policy.rules` in caisson.yaml, as they are written, sent to a worker and applied. */
import * as z from 'zod/mini';

const text = (max: number, description: string) =>
  z.string().check(z.minLength(1), z.maxLength(max), z.describe(description));
const reason = () => text(500, 'Reason for the agent and the record when the rule stops something.');

/** A rule about files: `no-access` forbids the most, `no-delete` the least. */
export const PathRule = z.strictObject({
  path: text(
    1000,
    "Glob relative to the project unless it is absolute or starts with ~/, for example secrets/**. Without a slash it means that name in any folder; ./ before it means the project's own folder.",
  ),
  action: z
    .enum(['no-access', 'read-only', 'no-delete'])
    .check(z.describe('no-access hides it, read-only refuses writes, no-delete refuses removal.')),
  reason: reason(),
});
export type PathRule = z.infer<typeof PathRule>;

/** A rule about commands. */
export const CommandRule = z.strictObject({
  command: text(
    1000,
    'Command as words, for example npm publish; * matches any text and more words may follow.',
  ),
  action: z.literal('deny').check(z.describe('deny refuses the command.')),
  reason: reason(),
});
export type CommandRule = z.infer<typeof CommandRule>;

/** One entry of `policy.rules`. Rules only forbid; none allows more. */
export const PolicyRule = z.discriminatedUnion('action', [PathRule, CommandRule]);
export type PolicyRule = z.infer<typeof PolicyRule>;

/** As a settings file has it. `..` is refused: a rule reaches no place above the project, and would silently do nothing. */
const WrittenPathRule = z.extend(PathRule, {
  path: PathRule.shape.path.check(
    z.regex(
      /^(?!(?:[^]*\/)?\.\.(?:\/|$))/,
      'must not contain "..": a name without a slash counts in all of the repository, also above the project',
    ),
  ),
});
export const WrittenRule = z.discriminatedUnion('action', [WrittenPathRule, CommandRule]);
