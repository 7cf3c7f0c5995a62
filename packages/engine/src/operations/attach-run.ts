/** A handle on a run that any host drives, this one or another: what happens, and orders through its host. */
import { BusTopic, type DispatchResult } from '@caisson/protocol';
import { describeRun } from '../dispatch/index.ts';
import { type RunHandle } from '../admission/index.ts';
import type { Engine } from '../engine.ts';
import { cancelRun } from './cancel-run.ts';
import { followRun, waitForEnding } from './follow-run.ts';
import { sendMessage } from './send-message.ts';

export function attachRun(engine: Engine, runId: string): RunHandle {
  const own = engine.dispatcher.active(runId);
  if (own !== null) return own;
  return {
    runId,
    isElsewhere: true,
    events: (options) => followRun(engine, runId, options),
    ended: waitForEnd(engine, runId),
    cancel: (options) =>
      void cancelRun(engine, runId, options).catch(({ message }: Error) =>
        engine.bus.emit(BusTopic.WARNING, { source: 'cancel', message }),
      ),
    send: (body) => sendMessage(engine, runId, body),
  };
}

async function waitForEnd(engine: Engine, runId: string): Promise<DispatchResult> {
  await waitForEnding(engine, runId);
  return describeRun(engine.rooms, runId);
}
