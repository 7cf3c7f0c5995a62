import { COMMON_OPTIONS } from '../../packages/cli/src/command.ts';
import { COMMANDS } from '../../packages/cli/src/command-table.ts';
import { EXIT_CODES } from '../../packages/cli/src/exit-codes.ts';
import { listOptions } from '../../packages/cli/src/help-text.ts';
import { usageOf } from '../../packages/cli/src/parse-command-line.ts';

/** The reference page of the CLI, from the same table that the CLI runs on. */
export async function describeCommands(): Promise<string> {
  const sections = await Promise.all(COMMANDS.map(describeCommand));
  return [
    '# Commands',
    '',
    'Options that every command understands, also in front of it:',
    '',
    ...formatOptions(COMMON_OPTIONS),
    '',
    `Exit codes: ${Object.entries(EXIT_CODES)
      .map(([name, code]) => `${code} ${name.replaceAll(/([A-Z])/g, ' $1').toLowerCase()}`)
      .join(' · ')}.`,
    '',
    ...sections,
  ].join('\n');
}

async function describeCommand(row: (typeof COMMANDS)[number]): Promise<string> {
  const { command } = await row.load();
  const options = formatOptions(command.options);
  return [
    `## caisson ${row.name}`,
    '',
    `${row.summary[0]?.toUpperCase() ?? ''}${row.summary.slice(1)}.${command.about === undefined ? '' : ` ${command.about}`}`,
    '',
    '```sh',
    usageOf(row.name, command),
    '',
    ...command.examples.flatMap(({ line, says }) => [`# ${says}`, line]),
    '```',
    '',
    ...(options.length === 0 ? [] : [...options, '']),
  ].join('\n');
}

function formatOptions(options: Parameters<typeof listOptions>[0]): string[] {
  const rows = listOptions(options).map(
    ([written, summary]) => `| \`${written.replaceAll('|', '\\|')}\` | ${summary} |`,
  );
  return rows.length === 0 ? [] : ['| option | meaning |', '|---|---|', ...rows];
}
