/** A handle on a run that any host drives, this one or another: what happens, and orders through its host. */
import { BusTopic, type DispatchResult } from '@caisson/protocol';
import { describeRun } from '../dispatch/index.ts';
import type { AttachOptions, RunHandle } from '../admission/index.ts';
import type { Engine } from '../engine.ts';
import { handled, orAborted } from '../platform/index.ts';
import { cancelRun } from './cancel-run.ts';
import { followRun, waitForEnding } from './follow-run.ts';
import { sendMessage } from './send-message.ts';

type Attaching = AttachOptions & Pick<RunHandle, 'isEarlier'>;

/** A handle that nobody asks for anything reads nothing. */
export function attachRun(engine: Engine, runId: string, { signal, ...mark }: Attaching = {}): RunHandle {
  const own = engine.dispatcher.active(runId);
  if (own !== null) {
    const ended = signal === undefined ? own.ended : handled(orAborted(signal, own.ended));
    return { ...own, ...mark, ended };
  }
  let ended: Promise<DispatchResult> | null = null;
  return {
    runId,
    ...mark,
    isElsewhere: true,
    events: (options) => followRun(engine, runId, options),
    get ended() {
      return (ended ??= handled(waitForEnd(engine, runId, signal)));
    },
    cancel: (options) =>
      void cancelRun(engine, runId, options).catch(({ message }: Error) =>
        engine.bus.emit(BusTopic.WARNING, { source: 'cancel', message }),
      ),
    send: (body) => sendMessage(engine, runId, body),
  };
}

async function waitForEnd(engine: Engine, runId: string, signal?: AbortSignal): Promise<DispatchResult> {
  await waitForEnding(engine, runId, signal);
  return describeRun(engine.rooms, runId);
}
