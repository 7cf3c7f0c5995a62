import { findRefusal } from '@caisson/engine';
import { CaissonError, definedOnly, toErrorInfo } from '@caisson/protocol';
import { exitCodeOfError, type ExitCode } from './exit-codes.ts';
import { LineProblem } from './line-problem.ts';
import type { Output } from './output.ts';
import { joinLine, line, textLines, wrapLine, type Line, type Lines, type Painted } from './painted.ts';
import { UsageError } from './usage-error.ts';

const INDENT = 2;

/** Reports to a person (or, with `-o json`, to a program) what failed and what to do; returns the exit code. */
export function printError(thrown: unknown, output: Output, isDebug: boolean): ExitCode {
  const error = thrown instanceof LineProblem ? toUsageError(thrown) : thrown;
  const info = toErrorInfo(error);
  if (output.format === 'human') output.note(wrapped(describe(error, info.remedy, output), output));
  else output.result({ error: info }, () => []);
  if (isDebug && error instanceof Error) output.note(textLines(error.stack ?? ''));
  return exitCodeOfError(info.code, findRefusal(error)?.kind);
}

function wrapped(lines: Lines, output: Output): Lines {
  return lines.flatMap((one) => wrapLine(one, output.wrapColumns(), INDENT));
}

function toUsageError({ message, remedy }: LineProblem): UsageError {
  return new UsageError(message, definedOnly({ remedy }));
}

function describe(error: unknown, remedy: string | undefined, output: Output): Lines {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof CaissonError && hasLines(error))
    return error.code === 'CONFIG_INVALID' ? describeProblems(error, output) : describeList(error, output);
  if (error instanceof CaissonError) return [join(output.style.red('error:'), message, remedy)];
  // The machine refused something (a full disk, a missing right): not a bug, and the message names the path.
  if (error instanceof Error && 'syscall' in error) {
    return [join(output.style.red('error:'), message, remedyOf((error as NodeJS.ErrnoException).code))];
  }
  const help = 'This is a bug in Caisson; CAISSON_DEBUG=1 shows where it happened.';
  return [join(output.style.red('internal error:'), message, help)];
}

/** A line for each problem; the remedy is behind the last. */
function describeProblems({ lines, remedy }: ListError, output: Output): Lines {
  const label = output.style.red('error:');
  const [first = '', ...rest] = lines;
  if (rest.length === 0) return [join(label, first, remedy)];
  return [line`${label} ${first}`, ...rest.slice(0, -1), join('', rest.at(-1) ?? '', remedy)];
}

type ListError = CaissonError & { readonly lines: readonly string[] };

function hasLines(error: CaissonError): error is ListError {
  return 'lines' in error && Array.isArray(error.lines);
}

/** The problem, its details, and the remedy in a separate line. */
function describeList({ lines, remedy }: ListError, output: Output): Lines {
  const [first = '', ...rest] = lines;
  return [line`${output.style.red('error:')} ${first}`, ...rest, ...(remedy === undefined ? [] : [remedy])];
}

function remedyOf(code: string | undefined): string {
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return 'Free some space on the disk that holds the state folder.';
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return 'Make it usable for this user, or choose another state folder with --state-dir.';
  return 'Check that path, its rights and the free space.';
}

/** Whole sentences; a message that already contains the remedy does not repeat it. */
function join(label: Line, message: string, remedy: string | undefined): Painted {
  const said = message.trimEnd();
  const sentence = /[.!?…:]$/.test(said) ? said : `${said}.`;
  const isReported = remedy === undefined || message.includes(remedy);
  return joinLine(
    [label, sentence, ...(isReported ? [] : [remedy])].filter((part) => part !== ''),
    ' ',
  );
}
