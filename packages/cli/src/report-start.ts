import type { ThreadStart } from '@caisson/protocol';
import { EXIT_CODES, type ExitCode } from './exit-codes.ts';
import type { Output } from './output.ts';

/** What became of the start of a thread; `given`: its workflow, where it is known. */
export function reportStart(started: ThreadStart, output: Output, given?: string): ExitCode {
  const isStarted = 'threadId' in started;
  output.result(started, () => [
    isStarted
      ? started.threadId
      : `not started (${started.dropped}): the workflow has no room for another thread.`,
  ]);
  if (isStarted && output.isInteractive) output.note(`Watch it: caisson threads show ${started.threadId}`);
  if (!isStarted)
    output.note(
      `Who has its places: caisson threads list${given === undefined ? '' : ` --workflow ${given}`}. Try again when one has ended; or raise concurrency, or set overflow: queue, in caisson.yaml.`,
    );
  return isStarted ? EXIT_CODES.finished : EXIT_CODES.failed;
}
