/** Reads a worker's stdout: a header first, then lines. Anything else is recorded as malformed and changes nothing. */
import type { Readable } from 'node:stream';
import { createNdjsonDecoder, parseWorkerLine, WorkerHeader, type WorkerLine } from '@caisson/protocol';

export interface WorkerStreamHandlers {
  onHeader(header: WorkerHeader): void;
  onLine(line: WorkerLine): void;
  onMalformed(record: { reason: string; bytes: number; head: string }): void;
}

export function readWorkerStream(stdout: Readable, handlers: WorkerStreamHandlers): void {
  const decoder = createNdjsonDecoder();
  let hasHeader = false;
  let lastSeq = 0;
  const malformed = (reason: string, value: unknown): void => {
    const text = JSON.stringify(value) ?? '';
    handlers.onMalformed({ reason, bytes: text.length, head: text.slice(0, 200) });
  };
  const accept = (value: unknown): void => {
    if (!hasHeader) {
      const header = WorkerHeader.safeParse(value);
      if (!header.success) return malformed('no-header', value);
      hasHeader = true;
      return handlers.onHeader(header.data);
    }
    const read = parseWorkerLine(value);
    if (read.line === null) malformed(read.problem, value);
    if (read.seq === null) return;
    if (read.seq !== lastSeq + 1) malformed('sequence', { expected: lastSeq + 1, seq: read.seq });
    lastSeq = read.seq;
    if (read.line !== null) handlers.onLine(read.line);
  };
  const take = (records: ReturnType<typeof decoder.push>): void => {
    for (const record of records) {
      if (record.kind === 'value') accept(record.value);
      else handlers.onMalformed({ reason: record.reason, bytes: record.bytes, head: record.head });
    }
  };
  stdout.on('data', (chunk: Buffer) => take(decoder.push(chunk)));
  stdout.on('end', () => take(decoder.end()));
  stdout.resume(); // that of an adopted worker was paused until now
}
