/**
 * What an agent printed: data, never protocol. Bytes are redacted, written to a file up to a cap, and kept as digest,
 * size, head and tail. Memory is limited whatever the agent prints.
 */
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import type { Redactor } from '@caisson/ground';

const HEAD_BYTES = 8 * 1024;
const TAIL_BYTES = 64 * 1024;

export interface Spool {
  write(chunk: Buffer): void;
  /** Writes what the redactor held back and closes the file. */
  end(): void;
  /** Bytes after redaction, also those past the cap. */
  readonly bytes: number;
  head(): string;
  tail(maxBytes?: number): string;
  /** The first `maxBytes` of the file. */
  readRecord(maxBytes: number): { bytes: Buffer; truncated: boolean };
}

/** The file's earlier content stays, and counts towards cap and record; everything else is about this spool alone. */
export function openSpool(
  path: string,
  options: { capBytes: number; redactor: Redactor; onBytes?(chunk: Buffer): void },
): Spool {
  const file = openSync(path, 'a+', 0o600);
  const before = fstatSync(file).size;
  const redacting = options.redactor.createStream();
  let total = 0;
  let stored = before;
  let headText = Buffer.alloc(0);
  let tailText: Buffer = Buffer.alloc(0);
  let isOpen = true;

  const keep = (chunk: Buffer): void => {
    if (chunk.length === 0) return;
    options.onBytes?.(chunk);
    if (headText.length < HEAD_BYTES)
      headText = Buffer.concat([headText, chunk.subarray(0, HEAD_BYTES - headText.length)]);
    tailText = joinTail(tailText, chunk);
    const room = options.capBytes - stored;
    if (room > 0) stored += writeSync(file, chunk, 0, Math.min(room, chunk.length));
    total += chunk.length;
  };

  return {
    // A pipe that a process outside still has open may bring late bytes; the record is closed by then.
    write: (chunk) => (isOpen ? keep(redacting.push(chunk)) : undefined),
    end() {
      if (!isOpen) return;
      isOpen = false;
      keep(redacting.flush());
    },
    get bytes() {
      return total;
    },
    head: () => headText.toString('utf8'),
    tail: (maxBytes = TAIL_BYTES) =>
      tailText.subarray(Math.max(0, tailText.length - maxBytes)).toString('utf8'),
    readRecord(maxBytes) {
      const length = Math.min(maxBytes, stored);
      const bytes = Buffer.alloc(length);
      readSync(file, bytes, 0, length, 0);
      closeSync(file);
      return { bytes, truncated: before + total > length };
    },
  };
}

function joinTail(tail: Buffer, chunk: Buffer): Buffer {
  if (chunk.length >= TAIL_BYTES) return Buffer.from(chunk.subarray(chunk.length - TAIL_BYTES));
  const room = TAIL_BYTES - chunk.length;
  return Buffer.concat([tail.subarray(Math.max(0, tail.length - room)), chunk]);
}
