/**
 * The worker's only writer to stdout. Stdout is protocol: a header, then numbered lines. Each line is in the events
 * file before it is on stdout, so that a later host can continue the stream. If the host is gone (EPIPE), the work
 * continues: the file still has every line. Secrets in a line are redacted here (invariant 7).
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { Redactor } from '@caisson/ground';
import { encodeNdjson, WORKER_SCHEMA, type Grant, type WorkerSaying } from '@caisson/protocol';
import { redactRecord } from './redact-value.ts';

export interface Voice {
  header(grant: Grant): void;
  say(line: WorkerSaying): void;
  close(): void;
}

export function createVoice(options: {
  runId: string;
  attempt: number;
  eventsFile: string;
  redactor: Redactor;
}): Voice {
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
    say(line) {
      seq += 1;
      write({ ...redactRecord(options.redactor, line), seq, at: new Date().toISOString() });
    },
    close: () => closeSync(file),
  };
}
