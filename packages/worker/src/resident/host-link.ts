/**
 * The two ways between this worker and its host: orders on fd 3, lines on stdout. Both are bounded: while the host does not
 * read, `isFull` says so; while nobody takes its orders, they are not read.
 */
import { Socket } from 'node:net';
import { corkTurn } from '@caisson/ground';
import {
  createNdjsonDecoder,
  encodeNdjson,
  MAX_ORDER_BYTES,
  readResidentOrder,
  RESIDENT_SCHEMA,
  type ResidentJob,
  type ResidentLine,
  type ResidentOrder,
} from '@caisson/protocol';

const STDOUT_FD = 1;
const ORDERS_FD = 3;
const MAX_WAITING_BYTES = 256 * 1024;

export interface HostLink {
  write(line: ResidentLine): void;
  /** Whether the host is behind; `onDrain` is called when it no longer is. */
  isFull(): boolean;
  onDrain(listener: () => void): void;
  /** Every order, in sequence; one that this version does not know is reported as null. */
  onOrder(listener: (order: ResidentOrder | null) => void): void;
  /** Reads no further orders until `resume`. */
  pause(): void;
  resume(): void;
  /** Resolves when the host has everything, or is gone. */
  flush(): Promise<void>;
}

/** The orders of the host; what a spare worker has not read of them stays in it. */
export function openOrders(): Socket {
  return new Socket({ fd: ORDERS_FD, readable: true, writable: false });
}

export function openHostLink(
  { resident, key, nonce }: Pick<ResidentJob, 'resident' | 'key' | 'nonce'>,
  orders: Socket,
  onLost: () => void,
): HostLink {
  const lines = new Socket({ fd: STDOUT_FD, readable: false, writable: true });
  lines.on('error', onLost);
  for (const end of ['end', 'error', 'close']) orders.on(end, onLost);
  lines.write(encodeNdjson({ schema: RESIDENT_SCHEMA, resident, key, nonce }));
  return {
    write(line) {
      corkTurn(lines);
      lines.write(encodeNdjson(line));
    },
    isFull: () => lines.writableLength > MAX_WAITING_BYTES,
    onDrain: (listener) => void lines.on('drain', listener),
    onOrder(listener) {
      const decoder = createNdjsonDecoder({ maxLineBytes: MAX_ORDER_BYTES });
      orders.on('data', (chunk: Buffer) => {
        for (const record of decoder.push(chunk))
          listener(record.kind === 'value' ? readResidentOrder(record.value) : null);
      });
      orders.resume(); // a spare worker has stopped reading behind its assignment
    },
    pause: () => void orders.pause(),
    resume: () => void orders.resume(),
    flush: () => new Promise((resolve) => void lines.write('', () => resolve())),
  };
}
