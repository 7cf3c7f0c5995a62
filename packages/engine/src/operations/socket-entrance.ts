/** Requests on the socket, which only this account can open: all are let in, and decisions are recorded. */
import type { IncomingMessage } from 'node:http';
import { CLIENT_HEADER, type Entrance, type OperationName } from '../api/index.ts';
import type { Engine } from '../engine.ts';
import { DECISIONS, localActor, MAX_CLIENT, recordAct, type Actor } from './record-act.ts';
import { recordStart } from './record-decisions.ts';

const RECORDED: ReadonlySet<OperationName> = new Set(DECISIONS);

export function createSocketEntrance(engine: Engine): Entrance {
  return {
    async record(request, operation, input) {
      if (RECORDED.has(operation)) await recordAct(engine, clientOf(request), operation, input);
    },
    started: (request, run) => recordStart(engine, clientOf(request), run),
  };
}

export function clientOf(request: IncomingMessage): Actor {
  return localActor(nameOfClient(request));
}

/** What the program that asks calls itself. */
export function nameOfClient({ headers }: IncomingMessage): string | undefined {
  const given = headers[CLIENT_HEADER];
  return typeof given === 'string' && given !== '' ? decode(given).slice(0, MAX_CLIENT) : undefined;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
