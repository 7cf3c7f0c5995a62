import { describeUnknownVariable, findUnknownVariables, readHostEnvironment } from '@caisson/engine';
import { withCommandFirst } from './choose-bundle.ts';
import type { CommandRow } from './command.ts';
import { goWithoutDaemon } from './daemon-choice.ts';
import { EXIT_CODES, type ExitCode } from './exit-codes.ts';
import { createOutput, type OutputFormat, type OutputStreams } from './output.ts';
import { findGroup, matchCommand, parseCommandLine } from './parse-command-line.ts';

/** Carries out one command line and resolves to the exit code. Never rejects: errors are printed. */
export async function runCli(
  words: readonly string[],
  rows: readonly CommandRow[],
  streams: OutputStreams,
): Promise<ExitCode> {
  const args = withCommandFirst(words);
  const env = readHostEnvironment();
  const output = createOutput(findFormat(args), streams, env);
  try {
    warnOfVariables(env, args[0], output);
    return await dispatchLine(args, rows, output);
  } catch (error) {
    const { printError } = await import('./print-error.ts');
    return printError(error, output, (env['CAISSON_DEBUG'] ?? '') !== '');
  }
}

/** A misspelt setting is not refused, because a CI system may set any variable; the doctor has a finding for it. */
function warnOfVariables(
  env: Readonly<Record<string, string | undefined>>,
  first: string | undefined,
  output: ReturnType<typeof createOutput>,
): void {
  if (first === 'doctor') return;
  for (const variable of findUnknownVariables(env))
    output.note(`warning: ${describeUnknownVariable(variable)}`);
}

async function dispatchLine(
  args: readonly string[],
  rows: readonly CommandRow[],
  output: ReturnType<typeof createOutput>,
): Promise<ExitCode> {
  const [first] = args;
  if (first === '--version' || first === '-V' || first === '-v')
    return await dispatchLine(['version', ...args.slice(1)], rows, output);
  if (first === undefined || first === '--help' || first === '-h') {
    const { formatOverview } = await import('./help-text.ts');
    const commands = rows.map(({ name, summary }) => ({ name, summary }));
    output.result({ commands }, () => formatOverview(rows, output.style, output.columns()));
    return first === undefined ? EXIT_CODES.usage : EXIT_CODES.finished;
  }
  const firstOption = args.findIndex((word) => word.startsWith('-'));
  const words = args.slice(0, firstOption === -1 ? 2 : Math.min(2, firstOption));
  const isHelpOfGroup =
    words.length === 1 && /^(--help|-h)$/.test(args[1] ?? '') && findGroup(first, rows).length > 0;
  if (isHelpOfGroup) return await dispatchLine(['help', first, ...args.slice(2)], rows, output);
  const { row, used } = matchCommand(words.length === 0 ? [first] : words, rows);
  const { command } = await row.load();
  const parsed = parseCommandLine(row.name, command, args.slice(used));
  if (parsed.options['help'] === true) {
    const { describeCommand, formatCommandHelp } = await import('./help-text.ts');
    const help = () => formatCommandHelp(row, command, output.style, output.columns());
    output.result(describeCommand(row, command), help);
    return EXIT_CODES.finished;
  }
  if (parsed.options['no-daemon'] === true) goWithoutDaemon();
  return await command.run({
    options: parsed.options as never,
    positionals: parsed.positionals,
    rest: parsed.rest,
    output,
    rows,
  });
}

/** Searched before parsing, so that a bad command line is also reported in the requested format. */
function findFormat(args: readonly string[]): OutputFormat {
  const end = args.indexOf('--');
  const own = end === -1 ? args : args.slice(0, end);
  for (const [index, word] of own.entries()) {
    const value =
      word === '-o' || word === '--output' ? own[index + 1] : /^(?:-o|--output=)(.+)$/.exec(word)?.[1];
    if (value === 'json' || value === 'ndjson') return value;
  }
  return 'human';
}
