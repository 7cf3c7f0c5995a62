import type * as z from 'zod/mini';
import { ModelScript, ScriptTurn } from './script.ts';

type Path = readonly PropertyKey[];
type Issue = z.core.$ZodIssue;

/**
 * Normalises every accepted form to a list of scripts: one script, its turns alone, or several. Throws for anything
 * unknown, with its place: ignoring a misspelt fault or usage would prove nothing.
 */
export function readScript(input: unknown): readonly ModelScript[] {
  if (!Array.isArray(input)) return [readPart(ModelScript, input, [])];
  const isScripts = input.some((entry) => typeof entry === 'object' && entry !== null && 'turns' in entry);
  if (isScripts) return input.map((entry, index) => readPart(ModelScript, entry, [index]));
  const turns = input.map((entry, index) => readPart(ScriptTurn, entry, [index]));
  return turns.length === 0 ? [] : [{ turns }];
}

function readPart<T extends z.core.$ZodType>(
  schema: T & { safeParse(value: unknown): z.core.util.SafeParseResult<z.core.output<T>> },
  value: unknown,
  at: Path,
): z.core.output<T> {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw new Error(read.error.issues.map((issue) => describe(issue, at, value)).join('\n'));
}

function describe(issue: Issue, at: Path, value: unknown): string {
  const found = issue.path.reduce<unknown>(
    (inner, key) => (inner as Readonly<Record<PropertyKey, unknown>> | undefined)?.[key],
    value,
  );
  return `${placeOf([...at, ...issue.path])}: ${wordsFor(issue, found)}`;
}

function placeOf(path: Path): string {
  return `script${path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')}`;
}

function wordsFor(issue: Issue, found: unknown): string {
  const shown = JSON.stringify(found) ?? 'nothing';
  switch (issue.code) {
    case 'unrecognized_keys':
      return `unknown: ${issue.keys.join(', ')}; see "Scripts" in the testkit's README for what is known`;
    case 'invalid_value':
      return `one of ${issue.values.join(', ')} is expected, not ${shown}`;
    case 'invalid_union':
      return `an "intent" that is known is expected, not ${shown}`;
    case 'invalid_type':
      return `${issue.expected} is expected, not ${shown}`;
    default:
      return `${shown} is not accepted (${issue.code})`;
  }
}
