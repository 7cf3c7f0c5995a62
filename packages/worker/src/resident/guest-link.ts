/**
 * The channel to the guest. What comes from it is data of the user's code: a line that is not exactly one of the protocol is
 * reported once as a violation, and nothing after it is read.
 */
import type { Duplex } from 'node:stream';
import { corkTurn } from '@caisson/ground';
import {
  createNdjsonDecoder,
  encodeNdjson,
  isNestedDeeper,
  MAX_LINE_LEVELS,
  readGuestLine,
  type GuestLine,
  type GuestOrder,
  type Decoded,
} from '@caisson/protocol';

const MAX_WAITING_BYTES = 1024 * 1024;

export interface GuestLinkOptions {
  onLine(line: GuestLine): void;
  onViolation(detail: string): void;
}

export interface GuestLink {
  send(order: GuestOrder): void;
  /** Whether the guest is behind with its orders; `onDrain` is called when it no longer is. */
  isFull(): boolean;
  onDrain(listener: () => void): void;
  pause(): void;
  resume(): void;
  isPaused(): boolean;
  /** Resolves when the guest's end is closed and everything it said was reported. */
  readonly closed: Promise<void>;
}

export function openGuestLink(channel: Duplex, { onLine, onViolation }: GuestLinkOptions): GuestLink {
  const decoder = createNdjsonDecoder();
  let isOver = false;
  const violate = (detail: string): void => {
    isOver = true;
    onViolation(detail);
  };
  channel.on('data', (chunk: Buffer) => {
    for (const record of isOver ? [] : decoder.push(chunk)) {
      const line = readLine(record);
      if (line !== null && !isOver) onLine(line);
      else if (!isOver) violate(describeBad(record));
    }
  });
  channel.on('error', () => undefined); // its end says the same
  const closed = new Promise<void>((resolve) => {
    for (const end of ['end', 'close'] as const) channel.once(end, () => resolve());
  });
  return {
    send(order) {
      if (!channel.writable) return;
      corkTurn(channel);
      channel.write(encodeNdjson(order));
    },
    isFull: () => channel.writableLength > MAX_WAITING_BYTES,
    onDrain: (listener) => void channel.on('drain', listener),
    pause: () => void channel.pause(),
    resume: () => void channel.resume(),
    isPaused: () => channel.isPaused(),
    closed,
  };
}

function readLine(record: Decoded): GuestLine | null {
  return record.kind === 'value' && !isTooDeep(record.value) ? readGuestLine(record.value) : null;
}

/** The worker would overflow its stack when it writes such a line, or the host when it makes its digest. */
function isTooDeep(value: unknown): boolean {
  return isNestedDeeper(value, MAX_LINE_LEVELS);
}

function describeBad(record: Decoded): string {
  const [reason, what] =
    record.kind === 'malformed'
      ? [record.reason, record.head]
      : isTooDeep(record.value)
        ? [`nested deeper than ${MAX_LINE_LEVELS} levels`, '']
        : ['shape', JSON.stringify(record.value)];
  return `it wrote to its channel what is no line of the protocol (${reason}): ${what.slice(0, 200)}`;
}
