import { COMMON_OPTIONS, type Command, type CommandRow, type OptionSpecs } from './command.ts';
import type { Output } from './output.ts';
import { usageOf } from './parse-command-line.ts';

type Style = Output['style'];

/** What `caisson` and `caisson --help` print. */
export function formatOverview(rows: readonly CommandRow[], style: Style): string {
  return [
    `${style.bold('caisson')} runs coding agents, each in its own sealed chamber.`,
    '',
    `${style.bold('Usage')}  caisson COMMAND [OPTIONS]`,
    '',
    style.bold('Commands'),
    ...alignPairs(rows.map(({ name, summary }) => [name, summary])),
    '',
    `caisson COMMAND --help explains a command, with examples.`,
  ].join('\n');
}

/** What `caisson COMMAND --help` prints. */
export function formatCommandHelp(
  row: Pick<CommandRow, 'name' | 'summary'>,
  command: Command,
  style: Style,
): string {
  return [
    `${style.bold(`caisson ${row.name}`)}: ${row.summary}`,
    ...(command.about === undefined ? [] : ['', command.about]),
    '',
    `${style.bold('Usage')}  ${usageOf(row.name, command)}`,
    '',
    style.bold('Examples'),
    ...command.examples.flatMap(({ line, says }) => [`  ${line}`, `      ${style.dim(says)}`]),
    '',
    style.bold('Options'),
    ...alignPairs(listOptions({ ...command.options, ...COMMON_OPTIONS })),
  ].join('\n');
}

/** Each option as written and what it does; shared with the reference page. */
export function listOptions(options: OptionSpecs): [string, string][] {
  return Object.entries(options).map(([name, spec]) => {
    const value = spec.type === 'boolean' ? '' : ` ${spec.choices?.join('|') ?? spec.value ?? 'VALUE'}`;
    const short = spec.short === undefined ? '' : `-${spec.short}, `;
    return [
      `${short}--${name}${value}`,
      `${spec.summary}${spec.multiple === true ? ' (may be repeated)' : ''}`,
    ];
  });
}

/** Two columns, indented by two. */
export function alignPairs(pairs: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(38, Math.max(0, ...pairs.map(([left]) => left.length)));
  return pairs.map(([left, right]) =>
    left.length > width ? `  ${left}\n  ${''.padEnd(width)}  ${right}` : `  ${left.padEnd(width)}  ${right}`,
  );
}
