/** The outcome of a check for people; of one that did not pass, the end of what it printed. */
import type { DispatchResult } from '@caisson/protocol';
import { formatDuration } from './format-values.ts';
import { line, textLines, type Painted, type Style } from './painted.ts';

type Verify = NonNullable<NonNullable<DispatchResult['result']>['verify']>;

const SHOWN_LINES = 12;
const ROOM_HINT =
  'checked in a clean room: your files, the patch and what was brought; --verify-lens verify checks where the agent worked';

export const paintPassed = (passed: boolean, style: Style): Painted =>
  passed ? style.green('passed') : style.red('did not pass');

export function describeVerify(verify: Verify, runId: string, style: Style): Painted[] {
  const { passed, lens, report, durationMs } = verify;
  const outcome = line`verify: ${paintPassed(passed, style)} (${lens}) in ${formatDuration(durationMs)}`;
  if (passed) return [outcome];
  const printed = textLines(report.trimEnd(), '  ');
  return [
    outcome,
    ...printed.slice(-SHOWN_LINES),
    ...(printed.length > SHOWN_LINES ? [line`  all of it: caisson logs ${runId} --verify`] : []),
    ...(lens === 'clean-room' ? [line`  ${ROOM_HINT}`] : []),
  ];
}
