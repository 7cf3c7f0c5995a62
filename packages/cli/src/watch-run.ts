/** Watches a run to its end, live, and reports how it ended. */
import type { Caisson, RunHandle } from '@caisson/engine';
import { definedOnly, toWire, type DispatchResult, type EnvelopeOf, type LiveRun } from '@caisson/protocol';
import { createApprovalAnnouncer } from './announce-approvals.ts';
import { createTerminalAsker, type Decide } from './ask-on-terminal.ts';
import { exitCodeOfResult, type ExitCode } from './exit-codes.ts';
import { formatEnding, isInPlace, type Whereabouts } from './format-ending.ts';
import { findUnreached } from './format-hint.ts';
import { isCommand } from './format-reply.ts';
import { formatDuration } from './format-values.ts';
import { keepFollowing, type KeptRun } from './keep-following.ts';
import { createLiveView, type Detail } from './live-view.ts';
import type { Output } from './output.ts';
import type { Lines } from './painted.ts';
import { onStopSignals, type StopOrder } from './stop-signals.ts';

export interface WatchOptions {
  readonly isApplied?: boolean;
  readonly isVerifyReportOnly?: boolean;
  readonly detail?: Detail;
  /** What its command prints is passed on as it comes. */
  readonly isStreamed?: boolean;
  /** Another process began it: a signal ends the watching alone. */
  readonly isOnlySeen?: boolean;
  /** Of such a run: what its host says of it now. */
  findLive?(runId: string): Promise<LiveRun | undefined>;
  /** The one of the command line; a line that answers a question needs it, too. */
  readonly stateDir?: string | undefined;
}

export interface WatchedRun {
  readonly result: DispatchResult;
  readonly code: ExitCode;
}

/** Asks a person before there is a run: a signal then ends this process. */
export type WhileAsking = <T>(ask: () => Promise<T>) => Promise<T>;
export type Begin = (whileAsking: WhileAsking) => Promise<RunHandle>;

/** `begin` starts the run. Signals are handled from before it on: none of them kills the host of an accepted run. */
export async function watchRun(
  caisson: Pick<Caisson, 'decide' | 'shutdown'>,
  begin: Begin,
  output: Output,
  how: WatchOptions = {},
): Promise<WatchedRun> {
  const startedMs = performance.now();
  const early: StopOrder[] = [];
  let isAsking = false;
  let kept: KeptRun | null = null;
  let obey = (order: StopOrder): void => {
    if (order.force || isAsking) dieOf(order, stopListening); // force: an admission that does not end
    early.push(order);
  };
  const stopListening = onStopSignals((order) => {
    if (order.signal !== 'SIGINT') void caisson.shutdown(order);
    obey(order);
  });
  try {
    const begun = await begin(async (ask) => {
      isAsking = true;
      return ask().finally(() => (isAsking = false));
    });
    kept = begun.isElsewhere === true ? keepFollowing(begun, how.stateDir, output) : null;
    const handle = kept ?? begun;
    const { result, isOfCommand } = await follow(handle, output, caisson.decide, {
      ...how,
      startedMs,
      onReady(beside) {
        obey = (order) =>
          how.isOnlySeen === true
            ? dieOf(order, stopListening)
            : obeyOrder(order, handle, beside, stopListening);
        early.forEach(obey);
      },
    });
    const { isVerifyReportOnly = false } = how;
    return { result, code: exitCodeOfResult(result, { isOfCommand, isVerifyReportOnly }) };
  } finally {
    stopListening();
    await kept?.close();
  }
}

interface Watching extends WatchOptions {
  readonly startedMs: number;
  onReady(beside: Output): void;
}

async function follow(
  handle: RunHandle,
  output: Output,
  decide: Decide,
  { isApplied = false, detail, isStreamed = false, stateDir, startedMs, onReady, findLive }: Watching,
): Promise<{ result: DispatchResult; isOfCommand: boolean }> {
  let worksInPlace = false;
  let lastReason = '';
  let isOfCommand = false;
  let unreached: string | null = null;
  const joined = await findLive?.(handle.runId);
  const view = createLiveView(output, handle.runId, definedOnly({ detail, joined }));
  const beside: Output = { ...output, note: view.note };
  const asker = createTerminalAsker(beside, decide, { stateDir });
  const announce = createApprovalAnnouncer(beside, stateDir);
  onReady(beside);
  if (handle.isEarlier === true)
    output.note(`${handle.runId} already has this idempotency key; nothing new is started`);
  try {
    for await (const event of handle.events()) {
      output.event(toWire(event));
      worksInPlace ||= isInPlace(event);
      isOfCommand ||= isCommand(event);
      unreached ??= findUnreached(event);
      view.show(event);
      if (event.type === 'settle.waiting') {
        beside.note(describeWait(event, lastReason));
        lastReason = event.reason;
      }
      asker.receive(event);
      announce(event);
    }
    const result = await handle.ended;
    asker.stop();
    view.end();
    const isPassed = isStreamed && isOfCommand && handle.isEarlier !== true;
    // On a terminal it stands right above.
    const isRead = output.isInteractive && view.lastSaid()?.trim() === result.reply.trim();
    const elapsedMs = performance.now() - startedMs;
    const work = { isInPlace: worksInPlace, isApplied, isOfCommand, unreached };
    printResult(result, output, { ...work, isReplyShown: isPassed || isRead, elapsedMs, isPassed });
    return { result, isOfCommand };
  } finally {
    view.end();
    asker.stop();
  }
}

/** Where stdout has what a command printed, and a program may read it, the ending is a remark. */
function printResult(
  result: DispatchResult,
  output: Output,
  work: Whereabouts & { readonly isPassed: boolean },
): void {
  if (output.format === 'ndjson') return;
  const lines = (): Lines => formatEnding(result, output.style, work);
  if (work.isPassed && !output.isInteractive) output.note(lines());
  else output.result(result, lines);
}

/** In every format: without it, a run that waits for a disk or a lock looks like one that hangs. */
function describeWait(event: EnvelopeOf<'settle.waiting'>, lastReason: string): string {
  const reason = event.reason.replace(/[^.!?]$/, '$&.');
  const next = formatDuration(event.delayMs);
  if (event.reason === lastReason) return `It still cannot be settled. Trying again in ${next}.`;
  return `The run is over, but cannot be settled yet: ${reason} Trying again in ${next}. Ctrl-C twice leaves it to the next caisson command.`;
}

/** Ctrl-C is the user's cancel. Any other signal is for this process: a run of another host continues there. */
function obeyOrder(order: StopOrder, handle: RunHandle, output: Output, stopListening: () => void): void {
  if (order.signal !== 'SIGINT' && handle.isElsewhere === true) return dieOf(order, stopListening);
  const { signal, force } = order;
  output.endPrompt('dropped'); // nothing is left to decide
  const how = signal === 'SIGINT' ? 'Press Ctrl-C again to force.' : 'A second signal forces.';
  output.note(force ? 'Forcing the run to stop.' : `Stopping; the work so far is kept. ${how}`);
  if (signal === 'SIGINT') handle.cancel({ force, interrupt: true });
}

/** As if there were no handler. */
function dieOf({ signal }: StopOrder, stopListening: () => void): void {
  stopListening();
  if (process.stdin.isTTY) process.stdin.setRawMode(false); // a prompt may just have opened
  process.kill(process.pid, signal);
}
