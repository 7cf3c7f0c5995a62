/** Watches a run to its end, live, and tells how it ended. */
import type { RunHandle } from '@caisson/engine';
import type { DispatchResult, EventEnvelope } from '@caisson/protocol';
import { createTerminalAsker, type Decide } from './ask-on-terminal.ts';
import { exitCodeOfResult, type ExitCode } from './exit-codes.ts';
import { formatEnding, isInPlace, type Whereabouts } from './format-ending.ts';
import { isCommand } from './format-reply.ts';
import { formatDuration } from './format-values.ts';
import { createLiveView } from './live-view.ts';
import type { Output } from './output.ts';

/** `decide` carries what a person at the terminal says about calls that are held. */
export async function watchRun(
  handle: RunHandle,
  output: Output,
  decide: Decide,
  { isApplied = false }: { isApplied?: boolean } = {},
): Promise<ExitCode> {
  let worksInPlace = false;
  let isOfCommand = false;
  const view = createLiveView(output, handle.runId);
  const beside: Output = { ...output, note: view.note };
  const stopListening = listenForInterrupts(handle, beside);
  const asker = createTerminalAsker(beside, decide);
  if (handle.isEarlier === true)
    output.note(`${handle.runId} has this idempotency key already; nothing new is started`);
  try {
    for await (const event of handle.events()) {
      output.event(event);
      worksInPlace ||= isInPlace(event);
      isOfCommand ||= isCommand(event);
      view.show(event);
      if (event.type === 'settle.waiting') beside.note(describeWait(event));
      asker.hear(event);
    }
    const result = await handle.ended;
    view.end();
    printResult(result, output, { isInPlace: worksInPlace, isApplied, isOfCommand });
    return exitCodeOfResult(result);
  } finally {
    view.end();
    asker.stop();
    stopListening();
  }
}

function printResult(result: DispatchResult, output: Output, work: Whereabouts): void {
  if (output.format === 'ndjson') return;
  output.result(result, () => formatEnding(result, output.style, work));
}

/** In every format: without it, a run that waits for a disk or a lock looks like one that hangs. */
function describeWait(event: EventEnvelope): string {
  const reason = String(event['reason']).replace(/[^.!?]$/, '$&.');
  const next = formatDuration(Number(event['delayMs']));
  return `The run is over, but cannot be settled yet: ${reason} Trying again in ${next}. Ctrl-C twice leaves it to the next caisson command.`;
}

/** Once: ask. Twice: force. */
function listenForInterrupts(handle: RunHandle, output: Output): () => void {
  let count = 0;
  const onInterrupt = (): void => {
    count += 1;
    if (count === 1) output.note('Stopping; the work so far is kept. Press Ctrl-C again to force.');
    else output.note('Forcing the run to stop.');
    handle.cancel({ force: count > 1, interrupt: true });
  };
  const onTerminate = (): void => handle.cancel();
  process.on('SIGINT', onInterrupt);
  process.on('SIGTERM', onTerminate);
  process.on('SIGHUP', onTerminate);
  return () => {
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onTerminate);
    process.off('SIGHUP', onTerminate);
  };
}
