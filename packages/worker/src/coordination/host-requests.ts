/** This worker's requests to its host, and the answers over the control pipe. */
import { randomUUID } from 'node:crypto';
import type { AttemptContext } from '../attempt/index.ts';

export interface HostReply {
  readonly ok: boolean;
  readonly value?: unknown;
}

export interface HostRequests {
  /** Resolves with the host's reply; with `ok: false` once the attempt is being stopped. */
  ask(request: 'approve' | 'dispatch', body: Record<string, unknown>): Promise<HostReply>;
}

export function createHostRequests(
  context: Pick<AttemptContext, 'writer' | 'control' | 'openRequests'>,
): HostRequests {
  const { writer, control, openRequests } = context;
  const waiting = new Map<string, (reply: HostReply) => void>();
  control.onReply(({ id, ok, value }) => {
    waiting.get(id)?.({ ok, value });
    waiting.delete(id);
    openRequests.delete(id);
  });
  const giveUp = (): void => {
    for (const resolve of waiting.values()) resolve({ ok: false, value: 'the run is being stopped' });
    waiting.clear();
    openRequests.clear();
  };
  control.stop.addEventListener('abort', giveUp);
  return {
    ask: (request, body) =>
      new Promise((resolve) => {
        if (control.stop.aborted) return resolve({ ok: false, value: 'the run is being stopped' });
        const id = randomUUID();
        waiting.set(id, resolve);
        openRequests.set(id, performance.now());
        writer.write({ kind: 'request', id, request, body });
      }),
  };
}
