/** `log` of the user's code: words become one text, and a flood is counted here already. */
import { formatWithOptions } from 'node:util';
import { MAX_LOG_CHARACTERS } from '@caisson/protocol';
import { createLogLimit } from '../log-limit.ts';
import type { Say } from './run-thread.ts';

export function createUserLog(say: Say): (...words: unknown[]) => void {
  const limit = createLogLimit();
  return (...words) => {
    if (!limit.take()) return;
    const dropped = limit.takeDropped();
    if (dropped > 0) say({ kind: 'logged', text: `(${dropped} lines were left out)` });
    say({
      kind: 'logged',
      text: formatWithOptions({ depth: 4 }, ...words).slice(0, MAX_LOG_CHARACTERS),
    });
  };
}
