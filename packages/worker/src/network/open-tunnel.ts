/**
 * One tunnel of a CONNECT: bytes in both directions, never read.
 *
 * connecting ──► up ──either side closes──► closed, recorded as allowed
 *      └─fails──► refused with the reason     └─breaks──► closed, recorded as failed
 */
import { connect, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { awaitConnection } from './await-connection.ts';
import type { OpenConnection } from './connection-log.ts';
import { PrivateAddressError } from './errors.ts';
import { IDLE_MS } from './exchange.ts';
import type { Target } from './host-rules.ts';
import { refuseTunnel } from './refuse.ts';

export interface Tunnel {
  readonly target: Target;
  readonly inside: Duplex;
  /** What the client sent after its request. */
  readonly head: Buffer;
  readonly connection: OpenConnection;
  readonly lookup: LookupFunction;
}

/** Starts to connect and returns the outer socket; its end is the tunnel's end. */
export function openTunnel({ target, inside, head, connection, lookup }: Tunnel): Socket {
  const outside = connect({
    host: target.host,
    port: target.port,
    lookup,
    allowHalfOpen: true,
    noDelay: true,
  });
  let isUp = false;
  awaitConnection(outside, false, () => undefined);
  const count = (): void => {
    connection.addUp(outside.bytesWritten);
    connection.addDown(outside.bytesRead);
  };
  outside.setTimeout(IDLE_MS, () => outside.destroy(new Error(`silent for ${IDLE_MS / 60_000} minutes`)));
  outside.once('connect', () => {
    isUp = true;
    inside.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) outside.write(head);
    inside.pipe(outside);
    outside.pipe(inside);
  });
  outside.on('error', (error: Error) => {
    if (!isUp) {
      refuse({ target, inside, connection }, error);
      return;
    }
    count();
    connection.end('failed', error.message);
    inside.destroy();
  });
  outside.once('close', () => {
    count();
    connection.end('allowed');
    if (isUp) inside.destroy();
  });
  inside.once('close', () => outside.destroy());
  return outside;
}

function refuse(
  { target, inside, connection }: Pick<Tunnel, 'target' | 'inside' | 'connection'>,
  error: Error,
): void {
  const isForbidden = error instanceof PrivateAddressError;
  connection.end(isForbidden ? 'denied' : 'failed', error.message);
  const words = `caisson: ${target.text} could not be reached: ${error.message}`;
  refuseTunnel(inside, isForbidden ? 403 : 502, isForbidden ? 'Forbidden' : 'Bad Gateway', words);
}
