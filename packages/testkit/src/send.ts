import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from './answer.ts';
import type { Route } from './route.ts';

/** An answer on its way into one response. */
export interface Sending {
  readonly route: Route;
  readonly answer: Answer;
  readonly isStream: boolean;
  /** Called when the last byte is on its way; some clients hang up right after reading it. */
  onSent(): void;
}

const DRIP_BYTES = 48;
const DRIP_MS = 10;

export function sendWhole(response: ServerResponse, sending: Sending): void {
  start(response, sending);
  response.end(bodyOf(sending));
  if (!response.destroyed) sending.onSent();
}

/** The first half, then silence until the client leaves or the server stops. */
export function sendStalled(response: ServerResponse, sending: Sending): void {
  start(response, sending);
  response.write(halfOf(bodyOf(sending)));
}

/** The first half, then the connection is gone. */
export function sendCut(response: ServerResponse, sending: Sending): void {
  start(response, sending);
  response.write(halfOf(bodyOf(sending)), () => response.destroy());
}

/** A whole answer, a few bytes at a time; pieces fall inside lines and characters. */
export async function sendSlowly(response: ServerResponse, sending: Sending): Promise<void> {
  start(response, sending);
  const body = Buffer.from(bodyOf(sending));
  for (let at = 0; at < body.length; at += DRIP_BYTES) {
    if (at > 0) await delay(DRIP_MS);
    if (response.destroyed) return;
    response.write(body.subarray(at, at + DRIP_BYTES));
  }
  sending.onSent();
  response.end();
}

/** Well-formed HTTP around bytes that are neither events nor JSON. */
export function sendGarbage(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(
    Buffer.concat([
      Buffer.from('data: {"type":\n\n<html>\u0000'),
      Buffer.from([0xff, 0xfe, 0x80]),
      Buffer.from('\n\ndata: }{\n\n'),
    ]),
  );
}

function start(response: ServerResponse, { isStream }: Sending): void {
  response.writeHead(200, {
    'content-type': isStream ? 'text/event-stream' : 'application/json',
    'cache-control': 'no-cache',
  });
}

function bodyOf({ route, answer, isStream }: Sending): string {
  if (!isStream) return JSON.stringify(route.wire.whole(answer));
  const events = route.wire
    .stream(answer)
    .map(
      ({ event, data }) =>
        `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`,
    );
  const end = route.wire.streamEnd === undefined ? '' : `data: ${route.wire.streamEnd}\n\n`;
  return events.join('') + end;
}

const halfOf = (body: string): string => body.slice(0, Math.floor(body.length / 2));
