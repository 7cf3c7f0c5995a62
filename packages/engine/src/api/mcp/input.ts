/** Schemas of what tools take. */
import * as z from 'zod/mini';
import { InputInvalidError } from '../problems.ts';

export function described<S extends z.ZodMiniType>(schema: S, description: string): S {
  return schema.check(z.describe(description));
}

export function text(maxCharacters: number): z.ZodMiniString {
  return z.string().check(z.minLength(1), z.maxLength(maxCharacters));
}

export const runName = (): z.ZodMiniString =>
  described(text(128), 'Id of the run, a unique beginning or ending of it, or latest.');

/** Parses what a client sent; throws InputInvalidError with every problem. */
export function parseInput<S extends z.ZodMiniType>(schema: S, input: unknown): z.infer<S> {
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  throw new InputInvalidError(parsed.error.issues.slice(0, 8).map(describeIssue).join('; '), {
    remedy: 'The input schema of the tool names every field.',
  });
}

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return `there is no field ${issue.keys.join(', ')}`;
  const where = issue.path.length === 0 ? 'the input' : issue.path.join('.');
  if (issue.code === 'invalid_value') return `${where} must be one of ${issue.values.join(', ')}`;
  if (issue.code === 'invalid_type') return `${where} must be of type ${issue.expected}`;
  if (issue.code === 'too_big') return `${where} must be at most ${issue.maximum}`;
  if (issue.code === 'too_small') return `${where} must be at least ${issue.minimum}`;
  return `${where}: ${issue.message}`;
}
