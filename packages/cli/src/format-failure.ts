/** Why a run failed, for people. */
import type { DispatchResult } from '@caisson/protocol';
import { nameFailure } from './format-values.ts';
import { line, textLines, type Painted } from './painted.ts';

/** More than one line if an agent or a command printed more. */
export function describeFailure(
  failure: NonNullable<DispatchResult['failure']>,
  isShown: (printed: string) => boolean = () => false,
): Painted[] {
  const label = failure.cause === 'exit-code' ? '' : `${nameFailure(failure)}: `; // the detail says it
  return textLines(withoutShown(failure.detail, isShown)).map((part, index) =>
    index === 0 ? line`${label}${part}` : part,
  );
}

/** The exit code of a command, without the end of its output if that is on the screen already. */
function withoutShown(detail: string, isShown: (printed: string) => boolean): string {
  const [, exit, printed] = /^(the command exited with code \d+): ([^]*)$/.exec(detail) ?? [];
  return exit !== undefined && printed !== undefined && isShown(printed) ? exit : detail;
}
