import { parseArgs } from 'node:util';
import { definedOnly, findNearest } from '@caisson/protocol';
import {
  COMMON_OPTIONS,
  type Command,
  type CommandRow,
  type OptionSpec,
  type OptionSpecs,
} from './command.ts';
import { LineProblem } from './line-problem.ts';

export interface ParsedLine {
  readonly options: Record<string, string | boolean | readonly string[] | undefined>;
  readonly positionals: readonly string[];
  readonly rest: readonly string[] | null;
}

/** The row that the first one or two words name; throws {@link LineProblem} with the nearest name. */
export function matchCommand(
  words: readonly string[],
  rows: readonly CommandRow[],
): { row: CommandRow; used: number } {
  for (const used of [2, 1]) {
    const given = words.slice(0, used).join(' ');
    const row = rows.find(({ name, aliases = [] }) => name === given || aliases.includes(given));
    if (row !== undefined && words.length >= used) return { row, used };
  }
  const [first = '', second] = words;
  if (first.startsWith('-'))
    throw new LineProblem(`No command comes with "${first}".`, { remedy: 'caisson --help lists them all.' });
  const group = findGroup(first, rows).map(({ name }) => name);
  if (group.length > 0) throw unknownMember(first, second, group);
  const meant = OTHER_WORDS[first];
  if (meant !== undefined)
    throw new LineProblem(`There is no command "${first}".`, { remedy: `For the daemon: caisson ${meant}.` });
  const nearest = findNearest(first, [...new Set(rows.map(({ name }) => name.split(' ')[0] ?? name))]);
  throw new LineProblem(`There is no command "${first}".`, {
    remedy: nearest === null ? 'caisson --help lists them all.' : `Did you mean "caisson ${nearest}"?`,
  });
}

/** What other programs call it. */
const OTHER_WORDS: Readonly<Partial<Record<string, string>>> = {
  start: 'up -d',
  stop: 'down',
  restart: 'up -d --replace',
  daemon: 'status',
};

/** The commands of two words that begin with this one. */
export function findGroup(first: string, rows: readonly CommandRow[]): readonly CommandRow[] {
  return rows.filter(({ name }) => name.startsWith(`${first} `));
}

/** Reads what follows the command's name; anything that does not fit throws {@link LineProblem}. */
export function parseCommandLine(name: string, command: Command, args: readonly string[]): ParsedLine {
  const specs: OptionSpecs = { ...COMMON_OPTIONS, ...command.options };
  const end = args.indexOf('--');
  const rest = end === -1 ? null : args.slice(end + 1);
  const own = end === -1 ? args : args.slice(0, end);
  if (rest !== null && command.takesRest !== true) {
    throw new LineProblem(`caisson ${name} takes nothing after "--".`, {
      remedy: `Usage: ${usageOf(name, command)}`,
    });
  }
  const { values, positionals, tokens } = parseArgs({
    args: [...own],
    options: Object.fromEntries(
      Object.entries(specs).map(([key, { type, short, multiple }]) => [
        key,
        { type, ...definedOnly({ short }), multiple: multiple ?? false },
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens)
    if (token.kind === 'option') checkOption(name, specs, token, own[token.index] ?? '');
  if (values['help'] !== true) checkPositionals(name, command, positionals);
  return { options: withBlanks(specs, values), positionals, rest };
}

export function usageOf(name: string, command: Pick<Command, 'usage'>): string {
  return `caisson ${name}${command.usage === '' ? '' : ` ${command.usage}`}`;
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function checkOption(name: string, specs: OptionSpecs, token: OptionToken, word: string): void {
  const spec = Object.hasOwn(specs, token.name) ? specs[token.name] : undefined;
  if (spec === undefined) {
    if (/\s/.test(word))
      throw new LineProblem(`"${word}" starts with a dash, so it was read as options.`, {
        remedy: 'A text that starts with a dash goes in by a file (@FILE) or by stdin (-).',
      });
    const nearest = findNearest(token.name, Object.keys(specs));
    throw new LineProblem(`caisson ${name} has no option ${token.rawName}.`, {
      remedy: nearest === null ? `caisson ${name} --help lists its options.` : `Did you mean --${nearest}?`,
    });
  }
  if (spec.type === 'boolean') {
    if (token.value !== undefined) throw new LineProblem(`${token.rawName} is a switch and takes no value.`);
    return;
  }
  checkValue(spec, token);
}

function checkValue(spec: OptionSpec, token: OptionToken): void {
  const { value, rawName } = token;
  // `--timeout --apply` is a forgotten value far more often than a value that looks like an option.
  if (value === undefined || (token.inlineValue !== true && /^-./.test(value) && !/^-\d/.test(value))) {
    throw new LineProblem(`${rawName} needs a value${spec.value === undefined ? '' : ` (${spec.value})`}.`, {
      remedy: `A value that starts with a dash is written ${rawName.startsWith('--') ? `${rawName}=-x` : `--${token.name}=-x`}.`,
    });
  }
  if (spec.choices === undefined || spec.choices.includes(value)) return;
  const nearest = findNearest(value, spec.choices);
  throw new LineProblem(`${rawName} is one of ${spec.choices.join(', ')}; "${value}" is not.`, {
    ...(nearest === null ? {} : { remedy: `Did you mean "${nearest}"?` }),
  });
}

function checkPositionals(name: string, command: Command, positionals: readonly string[]): void {
  const { min, max } = command.positionals ?? { min: 0, max: 0 };
  const remedy = `Usage: ${usageOf(name, command)}; for example: ${command.examples[0].line}`;
  if (positionals.length < min)
    throw new LineProblem(`caisson ${name} needs ${min === 1 ? 'an argument' : `${min} arguments`}.`, {
      remedy,
    });
  if (positionals.length > max)
    throw new LineProblem(`caisson ${name} does not take "${positionals[max] ?? ''}".`, { remedy });
}

/** Commands see `false` and `[]` instead of nothing. */
function withBlanks(specs: OptionSpecs, values: Record<string, unknown>): ParsedLine['options'] {
  const blanks = Object.entries(specs).map(([key, { type, multiple }]) => [
    key,
    type === 'boolean' ? false : multiple === true ? [] : undefined,
  ]);
  return { ...Object.fromEntries(blanks), ...values } as ParsedLine['options'];
}

function unknownMember(first: string, second: string | undefined, group: readonly string[]): LineProblem {
  const nearest = second === undefined ? null : findNearest(`${first} ${second}`, group);
  const said =
    second === undefined
      ? `caisson ${first} needs one more word.`
      : `There is no command "${first} ${second}".`;
  return new LineProblem(said, {
    remedy:
      nearest === null
        ? `There is: ${group.map((name) => `caisson ${name}`).join(', ')}.`
        : `Did you mean "caisson ${nearest}"?`,
  });
}
