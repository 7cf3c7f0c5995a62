import {
  ConfigFile,
  explainConfigIssues,
  findNearest,
  type ConfigIssue,
  NOT_IN_RUN_CONFIG,
} from '@caisson/protocol';
import type { ConfigDocument } from './config-document.ts';
import { ConfigError, type ConfigProblem } from './errors.ts';
import { keysAt } from './schema-keys.ts';

/**
 * Guards the file's edge: returns what the schema accepts, or throws a {@link ConfigError} that lists every problem.
 * `onUnread` gets that error instead where the rest of the file can be used without what it names.
 */
export async function parseConfigDocument(
  document: ConfigDocument,
  onUnread?: (error: ConfigError) => void,
): Promise<ConfigFile> {
  const parsed = ConfigFile.safeParse(document.value);
  if (parsed.success) return parsed.data;
  const issues = await explainConfigIssues(document.value);
  const error = toError(document, issues);
  const readable = onUnread === undefined ? null : ConfigFile.safeParse(leaveOut(document.value, issues));
  if (readable?.success !== true) throw error;
  onUnread?.(error);
  return readable.data;
}

function toError(document: ConfigDocument, issues: readonly ConfigIssue[]): ConfigError {
  const problems = issues.flatMap((issue) => toProblems(document, issue));
  problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  const [first, ...rest] = problems;
  return new ConfigError([
    first ?? { file: document.file, message: 'is not a valid configuration.' },
    ...rest,
  ]);
}

/** Without each member that has an issue; of a list nothing is left out but the whole. */
function leaveOut(value: unknown, issues: readonly ConfigIssue[]): unknown {
  const rest = structuredClone(value);
  for (const issue of issues) {
    const paths =
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    for (const path of paths) {
      const inList = path.findIndex((part) => typeof part === 'number');
      const whole = inList === -1 ? path : path.slice(0, inList);
      const parent = valueAt(rest, whole.slice(0, -1));
      if (typeof parent === 'object' && parent !== null) Reflect.deleteProperty(parent, whole.at(-1) ?? '');
    }
  }
  return rest;
}

function toProblems(document: ConfigDocument, issue: ConfigIssue): ConfigProblem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => unknownKey(document, issue.path, key));
  }
  const name = formatPath(issue.path);
  const place =
    issue.code === 'invalid_key'
      ? document.locate(issue.path.slice(0, -1), String(issue.path.at(-1)))
      : document.locate(issue.path);
  const given = valueAt(document.value, issue.path);
  const suggestion = suggestValue(issue, given);
  return [
    {
      file: document.file,
      ...place,
      message: `${name === '' ? 'the file' : name}: ${describeIssue(issue, given)}`,
      ...(suggestion === null ? {} : { suggestion }),
    },
  ];
}

function unknownKey(document: ConfigDocument, path: readonly PropertyKey[], key: string): ConfigProblem {
  const known = keysAt(path, document.value);
  const nearest = findNearest(key, known);
  const [kind, name, ...inner] = path;
  const reason =
    kind === 'schedules' && name !== undefined && inner.length === 0 ? NOT_IN_RUN_CONFIG[key] : undefined;
  const where = path.length === 0 ? 'at the top level' : `in ${formatPath(path)}`;
  return {
    file: document.file,
    ...document.locate(path, key),
    message: `unknown key "${key}" ${where}.`,
    suggestion:
      reason !== undefined
        ? `A schedule has no such option: ${reason}.`
        : nearest === null
          ? `Known keys: ${known.join(', ')}.`
          : `Did you mean "${nearest}"?`,
  };
}

const NAME_RULE = 'a name has lowercase letters, digits, dots, dashes and underscores.';
const VARIABLE_RULE = 'the name of a variable has letters, digits and underscores, and no digit first.';
/** By their parent. */
const NAME_RULES: Readonly<Record<string, string>> = {
  pipelines: "a pipeline's name is <pack>.<name>, each of lowercase letters, digits and dashes.",
  env: VARIABLE_RULE,
  values: VARIABLE_RULE,
  fragments:
    'the name of a fragment has lowercase letters, digits, dashes and underscores, and a letter first.',
};

export function describeIssue(issue: ConfigIssue, given: unknown): string {
  if (issue.code === 'invalid_key') return NAME_RULES[String(issue.path.at(-2))] ?? NAME_RULE;
  const hasOwnWords = issue.message.startsWith('expected ');
  if (issue.code === 'invalid_type' && !hasOwnWords) return describeType(issue.expected, given);
  if (issue.code === 'too_small' || issue.code === 'too_big') return describeBound(issue);
  const message = issue.message
    .replace(/^Invalid (input|option): /, '')
    .replace(/^Invalid discriminator value\. Expected/, 'expected one of');
  return /[.?]$/.test(message) ? message : `${message}.`;
}

function describeType(expected: string, given: unknown): string {
  const wanted = KINDS[expected] ?? expected;
  if (given === undefined) return `is missing; expected ${wanted}.`;
  const found = KINDS[kindOf(given)] ?? kindOf(given);
  return found === 'a number' ? `expected ${wanted}.` : `expected ${wanted}, not ${found}.`;
}

function kindOf(value: unknown): string {
  if (value === null || Number.isNaN(value)) return String(value);
  return Array.isArray(value) ? 'array' : typeof value;
}

function describeBound(issue: Extract<ConfigIssue, { code: 'too_small' | 'too_big' }>): string {
  const bound = issue.code === 'too_small' ? issue.minimum : issue.maximum;
  const how = issue.code === 'too_small' ? 'at least' : 'at most';
  if (issue.origin !== 'string' && issue.origin !== 'array')
    return issue.inclusive === false ? `must be more than ${bound}.` : `must be ${how} ${bound}.`;
  if (issue.code === 'too_small' && Number(bound) === 1) return 'must not be empty.';
  return `must have ${how} ${bound} ${issue.origin === 'string' ? 'characters' : 'entries'}.`;
}

/** In words for a person who writes a file. */
const KINDS: Readonly<Record<string, string>> = {
  object: 'a map',
  record: 'a map',
  array: 'a list',
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  null: 'nothing (null)',
  NaN: 'a value that is no number',
};

export function suggestValue(issue: ConfigIssue, given: unknown): string | null {
  const nearest = typeof given === 'string' ? findNearest(given, choicesOf(issue)) : null;
  return nearest === null ? null : `Did you mean "${nearest}"?`;
}

/** The accepted values, where they can be listed. */
function choicesOf(issue: ConfigIssue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  return 'options' in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];
}

export function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}

export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = Reflect.get(current, part);
  }
  return current;
}
