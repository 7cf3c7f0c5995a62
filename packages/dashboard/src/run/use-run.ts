import type { DispatchResult } from '@caisson/protocol';
import { useApp } from '../live/app-context.ts';
import { useAnswer, type Answer } from '../live/use-answer.ts';

/** What the ledger says of a run; while it is under way its live numbers are read again with its events. */
export function useRun(runId: string): Answer<DispatchResult> {
  const { client } = useApp();
  return useAnswer(
    `run:${runId}`,
    (signal) => client.get<DispatchResult>(`/v1/runs/${encodeURIComponent(runId)}`, {}, signal),
    (event) => event.runId === runId && (event.seq > 0 || event.type === 'worker.heartbeat'),
  );
}
