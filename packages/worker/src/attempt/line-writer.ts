/**
 * The worker's only writer to stdout. Stdout is protocol: a header, then numbered lines. Each line is in the events
 * file before it is on stdout, so that a later host can continue the stream. If the host is gone (EPIPE), the work
 * continues: the file still has every line. Secrets in a line are redacted here (invariant 7).
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { Redactor } from '@caisson/ground';
import { encodeNdjson, WORKER_SCHEMA, type Grant, type WorkerSaying } from '@caisson/protocol';
import { redactRecord } from './redact-value.ts';

export interface LineWriter {
  header(grant: Grant): void;
  write(line: WorkerSaying): void;
  /** Resolves when the host has been sent everything, or is gone. */
  close(): Promise<void>;
}

export function createLineWriter(options: {
  runId: string;
  attempt: number;
  eventsFile: string;
  redactor: Redactor;
}): LineWriter {
  const file = openSync(options.eventsFile, 'a', 0o600);
  process.stdout.on('error', () => undefined); // the events file has it too
  let seq = 0;
  const write = (value: unknown): void => {
    const text = encodeNdjson(value);
    writeSync(file, text);
    process.stdout.write(text);
  };
  return {
    header: (grant) =>
      write({ schema: WORKER_SCHEMA, runId: options.runId, attempt: options.attempt, grant }),
    write(line) {
      seq += 1;
      write({ ...redactRecord(options.redactor, line), seq, at: new Date().toISOString() });
    },
    close() {
      closeSync(file);
      return new Promise((resolve) => void process.stdout.write('', () => resolve()));
    },
  };
}
