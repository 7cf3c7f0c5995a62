import { COMMON_OPTIONS, type Command, type CommandRow, type OptionSpecs } from './command.ts';
import { line as show, type Line, type Lines, type Style } from './painted.ts';
import { usageOf } from './parse-command-line.ts';
import { wrapText } from './wrap-text.ts';

/** What `caisson` and `caisson --help` print, in lines that fit into `columns`. */
export function formatOverview(rows: readonly CommandRow[], style: Style, columns: number): Lines {
  return [
    show`${style.bold('caisson')} runs coding agents, each in its own sealed chamber.`,
    '',
    show`${style.bold('Usage')}  caisson COMMAND [OPTIONS]`,
    '',
    ...listCommands(rows, style, columns),
    '',
    `caisson COMMAND --help explains a command, with examples.`,
  ];
}

/** What `caisson GROUP --help` prints: the commands that begin with this word. */
export function formatGroup(
  group: string,
  rows: readonly CommandRow[],
  style: Style,
  columns: number,
): Lines {
  return [
    show`${style.bold('Usage')}  caisson ${group} COMMAND [OPTIONS]`,
    '',
    ...listCommands(rows, style, columns),
    '',
    `caisson ${group} COMMAND --help explains one, with examples.`,
  ];
}

function listCommands(rows: readonly CommandRow[], style: Style, columns: number): Lines {
  const pairs = rows.map(({ name, summary }) => [name, summary] as const);
  return [style.bold('Commands'), ...alignPairs(pairs, columns)];
}

/** What `caisson COMMAND --help` prints, in lines that fit into `columns`. */
export function formatCommandHelp(
  row: Pick<CommandRow, 'name' | 'summary'>,
  command: Command,
  style: Style,
  columns: number,
): Lines {
  return [
    ...headline(row, style, columns),
    ...(command.about === undefined ? [] : ['', ...wrapText(command.about.replaceAll('\n', ' '), columns)]),
    '',
    show`${style.bold('Usage')}  ${usageOf(row.name, command)}`,
    '',
    style.bold('Examples'),
    ...command.examples.flatMap(({ line, says }) => [
      `  ${line}`,
      ...wrapText(says, columns - 6).map((part) => show`      ${style.dim(part)}`),
    ]),
    '',
    style.bold('Options'),
    ...alignPairs(listOptions({ ...command.options, ...COMMON_OPTIONS }), columns),
  ];
}

/** The name is styled after the line was wrapped: styles have no width. */
function headline(
  { name, summary }: Pick<CommandRow, 'name' | 'summary'>,
  style: Style,
  columns: number,
): Line[] {
  const words = `caisson ${name}`;
  const [first = '', ...rest] = wrapText(`${words}: ${summary}`, columns);
  const painted = first.startsWith(words) ? show`${style.bold(words)}${first.slice(words.length)}` : first;
  return [painted, ...rest];
}

/** More than this beside an option would push its summary off the line. */
const LONGEST_CHOICES = 40;

/** Each option as written and what it does; shared with the reference page. */
export function listOptions(options: OptionSpecs): [string, string][] {
  return Object.entries(options).map(([name, spec]) => {
    const choices = spec.choices?.join('|') ?? '';
    const areMany = choices.length > LONGEST_CHOICES;
    const shown = choices === '' || areMany ? (spec.value ?? 'VALUE') : choices;
    const short = spec.short === undefined ? '' : `-${spec.short}, `;
    return [
      `${short}--${name}${spec.type === 'boolean' ? '' : ` ${shown}`}`,
      [
        spec.summary,
        ...(areMany ? [`: ${spec.choices?.join(', ') ?? ''}`] : []),
        ...(spec.multiple === true ? [' (may be repeated)'] : []),
      ].join(''),
    ];
  });
}

/** The same for a program that asks with `-o json`. */
export function describeCommand({ name, summary }: Pick<CommandRow, 'name' | 'summary'>, command: Command) {
  const { about, examples } = command;
  return {
    name,
    summary,
    ...(about === undefined ? {} : { about: about.replaceAll('\n', ' ') }),
    usage: usageOf(name, command),
    examples,
    options: { ...command.options, ...COMMON_OPTIONS },
  };
}

/** On a narrower terminal, the terminal itself wraps our lines. */
const NARROWEST = 20;

/** Two columns, indented by two; if they do not fit side by side, the second begins on its own line. */
function alignPairs(pairs: readonly (readonly [string, string])[], columns: number): string[] {
  const width = Math.min(38, Math.max(0, ...pairs.map(([left]) => left.length)), Math.floor(columns / 2));
  const indent = ''.padEnd(width + 4);
  return pairs.flatMap(([left, right]) => {
    const [first = '', ...rest] = wrapText(right, Math.max(NARROWEST, columns - indent.length));
    const lines = [first, ...rest].map((line) => indent + line);
    if (left.length > width) return [`  ${left}`, ...lines];
    return [`  ${left.padEnd(width)}  ${first}`, ...lines.slice(1)];
  });
}
