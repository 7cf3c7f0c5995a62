/** Answers that are under way: they end when the token that asked for them does (F3). */
import type { ServerResponse } from 'node:http';
import type { Clock } from '@caisson/ground';
import type { Tokens } from './tokens.ts';

/** A token may be revoked by any process, so the ledger is asked. */
const LOOK_MS = 1000;

export interface OpenAnswers {
  /** Cuts the answer off when the token of this id is no good any more. */
  watch(id: string, response: ServerResponse): void;
}

export function createOpenAnswers(tokens: Pick<Tokens, 'isGood'>, clock: Clock): OpenAnswers {
  const open = new Map<string, Set<ServerResponse>>();
  let cancel: (() => void) | null = null;
  const look = (): void => {
    cancel = clock.setTimer(LOOK_MS, look);
    for (const [id, responses] of open)
      if (!tokens.isGood(id)) for (const response of responses) response.destroy();
  };
  const leave = (id: string, response: ServerResponse): void => {
    const responses = open.get(id);
    responses?.delete(response);
    if (responses?.size === 0) open.delete(id);
    if (open.size > 0) return;
    cancel?.();
    cancel = null;
  };
  return {
    watch(id, response) {
      const responses = open.get(id) ?? new Set();
      open.set(id, responses.add(response));
      response.once('close', () => leave(id, response));
      cancel ??= clock.setTimer(LOOK_MS, look);
    },
  };
}
