import { TaskRefusedError } from '@caisson/engine';
import { CaissonError, toErrorInfo } from '@caisson/protocol';
import { exitCodeOfError, type ExitCode } from './exit-codes.ts';
import { LineProblem } from './line-problem.ts';
import type { Output } from './output.ts';
import { UsageError } from './usage-error.ts';

/** Tells a person (or, with `-o json`, a program) what failed and what to do; returns the exit code for it. */
export function printError(thrown: unknown, output: Output, isDebug: boolean): ExitCode {
  const error = thrown instanceof LineProblem ? toUsageError(thrown) : thrown;
  const info = toErrorInfo(error);
  if (output.format === 'human') output.note(describe(error, info.remedy, output));
  else output.result({ error: info }, () => '');
  if (isDebug && error instanceof Error) output.note(error.stack ?? '');
  return exitCodeOfError(info.code, error instanceof TaskRefusedError ? error.refusal.kind : undefined);
}

function toUsageError({ message, remedy }: LineProblem): UsageError {
  return new UsageError(message, remedy === undefined ? {} : { remedy });
}

function describe(error: unknown, remedy: string | undefined, output: Output): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof CaissonError) return join(output.style.red('error:'), message, remedy);
  // The machine refused something (a full disk, a missing right): not a bug, and the message names the path.
  if (error instanceof Error && 'syscall' in error) {
    return join(output.style.red('error:'), message, remedyOf((error as NodeJS.ErrnoException).code));
  }
  const help = 'This is a bug in Caisson; CAISSON_DEBUG=1 shows where it happened.';
  return join(output.style.red('internal error:'), message, help);
}

function remedyOf(code: string | undefined): string {
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return 'Free some space on the disk that holds the state folder.';
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return 'Make it usable for this user, or choose another state folder with --state-dir.';
  return 'Check that path, its rights and the free space.';
}

/** Whole sentences; a message that already says what to do is not told twice. */
function join(label: string, message: string, remedy: string | undefined): string {
  const said = message.trimEnd();
  const isList = said.includes('\n');
  const sentence = isList || /[.!?…:]$/.test(said) ? said : `${said}.`;
  return remedy === undefined || message.includes(remedy)
    ? `${label} ${sentence}`
    : `${label} ${sentence}${isList ? '\n' : ' '}${remedy}`;
}
