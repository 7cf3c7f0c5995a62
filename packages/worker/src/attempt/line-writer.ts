/**
 * Everything the worker reports: a header with the grant it applied, then numbered lines. Each line is in the events
 * file before the host gets it, so that a later host can have the stream from the beginning, and one that is slow gets
 * the rest from the file: nothing waits for it, and little is kept in memory. If the host is gone, the work continues.
 * Secrets in a line are redacted here (invariant 7).
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { Redactor } from '@caisson/ground';
import { encodeNdjson, WORKER_SCHEMA, type Grant, type WorkerSaying } from '@caisson/protocol';
import { redactRecord } from './redact-value.ts';

const STDOUT_FD = 1;
const MAX_WAITING_BYTES = 1024 * 1024;
const PART_BYTES = 256 * 1024;

export interface LineWriter {
  header(grant: Grant): void;
  write(line: WorkerSaying): void;
  /** How many lines there are, without the header. */
  readonly count: number;
  /** The size of the events file. */
  bytes(): number;
  /** From now on this reader gets the stream, from its beginning, and no other. */
  turnTo(reader: Writable): void;
  /** Resolves when the host has been sent everything, or is gone. */
  close(): Promise<void>;
}

export interface LineWriterOptions {
  readonly runId: string;
  readonly attempt: number;
  readonly eventsFile: string;
  readonly redactor: Redactor;
  /** Default: stdout. */
  readonly reader?: Writable;
  /** It may go on without its host, to which stderr is a pipe. */
  readonly mayBeAlone?: boolean;
}

export function createLineWriter(options: LineWriterOptions): LineWriter {
  const file = openSync(options.eventsFile, 'a+', 0o600);
  let reader = options.reader ?? openStdout();
  reader.on('error', () => undefined); // the file has every line
  if (options.mayBeAlone === true) process.stderr.on('error', () => undefined);
  let seq = 0;
  /** How much there is, and how much of it the reader has been given. */
  let [size, sent] = [0, 0];
  let catchingUp: Promise<void> | null = null;

  const sendRest = async (): Promise<void> => {
    while (sent < size && !reader.destroyed) {
      const to = reader;
      const part = readPart(file, sent, size - sent);
      await writeOrLeave(to, part);
      if (to === reader) sent += part.length;
    }
  };
  const catchUp = (): void => {
    if (catchingUp !== null) return;
    const sending = sendRest().finally(() => {
      if (catchingUp === sending) catchingUp = null;
      if (sent < size && !reader.destroyed) catchUp(); // it came in the last moment
    });
    catchingUp = sending;
  };
  const write = (value: unknown): void => {
    const bytes = Buffer.from(encodeNdjson(value));
    writeAll(file, bytes, (written) => (size += written));
    if (catchingUp !== null || reader.destroyed) return;
    if (reader.writableLength > MAX_WAITING_BYTES) return catchUp();
    reader.write(bytes);
    sent = size;
  };
  return {
    header: (grant) =>
      write({ schema: WORKER_SCHEMA, runId: options.runId, attempt: options.attempt, grant }),
    write(line) {
      seq += 1;
      write({ ...redactRecord(options.redactor, line), seq, at: new Date().toISOString() });
    },
    get count() {
      return seq;
    },
    bytes: () => size,
    turnTo(next) {
      next.on('error', () => undefined);
      const earlier = reader;
      reader = next;
      sent = 0;
      earlier.destroy();
      catchUp();
    },
    async close() {
      while (catchingUp !== null) await catchingUp;
      closeSync(file);
      if (!reader.destroyed) await writeOrLeave(reader, Buffer.alloc(0));
    },
  };
}

function openStdout(): Writable {
  return new Socket({ fd: STDOUT_FD, readable: false, writable: true });
}

/** Resolves also when the reader is gone: it may never say what became of the part. */
function writeOrLeave(reader: Writable, part: Buffer): Promise<void> {
  return new Promise((resolve) => {
    reader.once('close', resolve);
    reader.write(part, () => {
      reader.off('close', resolve);
      resolve();
    });
  });
}

/** A part of it may be written on a disk that is almost full. */
function writeAll(file: number, bytes: Buffer, onWritten: (written: number) => void): void {
  for (let at = 0; at < bytes.length;) {
    const written = writeSync(file, bytes, at);
    at += written;
    onWritten(written);
  }
}

function readPart(file: number, from: number, most: number): Buffer {
  const part = Buffer.alloc(Math.min(most, PART_BYTES));
  return part.subarray(0, readSync(file, part, 0, part.length, from));
}
