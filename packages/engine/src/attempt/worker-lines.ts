/**
 * Which lines of a worker are recorded. Each line has a number, so that one that was received here and is read again
 * from the worker's events file is recorded once.
 */
import { createReadStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { isErrno } from '@caisson/ground';
import type { DurableType, EventContent, WorkerLine } from '@caisson/protocol';
import type { RunRecord, StoredEvent } from '../ledger/index.ts';
import { readWorkerStream } from '../supervision/index.ts';
import { createWorkRecord, WORK_TYPES, type WorkRecord } from './work-record.ts';

/** The common fields of a line. */
type Numbered = Pick<WorkerLine, 'seq' | 'at' | 'kind'>;

interface Attempt {
  readonly runId: string;
  readonly attempt: number;
}

/** Records the line if it is a durable one. */
export function keepLine(
  record: RunRecord,
  work: WorkRecord,
  { runId, attempt }: Attempt,
  line: WorkerLine,
): boolean {
  const id = `line:${runId}.${attempt}.${line.seq}`;
  if (keepWork(work, line, id)) return true;
  const event = eventOf(line);
  if (event === null) return false;
  record.keep(event.type, event.data, { attempt, id });
  return true;
}

function keepWork(work: WorkRecord, line: WorkerLine, id: string): boolean {
  if (line.kind === 'tool.started') work.keep(line.kind, dataOf(line), id);
  else if (line.kind === 'tool.ended') work.keep(line.kind, dataOf(line), id);
  else if (line.kind === 'agent.said') work.keep(line.kind, dataOf(line), id);
  else return false;
  return true;
}

/** Records what a dead host had not: the worker writes each line into its file before it prints it. */
export async function keepLeftLines(
  record: RunRecord,
  attempt: Attempt,
  eventsFile: string,
  events: readonly StoredEvent[],
): Promise<void> {
  const work = createWorkRecord(record, attempt, findRecordedWork(events, attempt));
  const file = createReadStream(eventsFile);
  readWorkerStream(file, {
    onHeader: () => undefined,
    onLine: (line) => void keepLine(record, work, attempt, line),
    onMalformed: () => undefined, // its last line may have been cut off
  });
  try {
    await finished(file);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
  work.close();
}

function findRecordedWork(events: readonly StoredEvent[], { attempt }: Attempt): string[] {
  const types: readonly string[] = WORK_TYPES;
  return events
    .filter((event) => event.attempt === attempt && types.includes(event.type))
    .map(({ id }) => id);
}

/** Publishes the line if it is one that no record keeps; what lasts of it is in the result. */
export function publishLine(record: RunRecord, attempt: number, line: WorkerLine): void {
  if (line.kind === 'compaction') record.publish('compaction.started', dataOf(line), attempt);
  if (line.kind === 'heartbeat') record.publish('worker.heartbeat', dataOf(line), attempt);
  if (line.kind === 'progress') record.publish('worker.progress', dataOf(line), attempt);
  if (line.kind === 'worker.boot') record.publish(line.kind, dataOf(line), attempt);
  if (line.kind === 'sandbox.started') record.publish(line.kind, dataOf(line), attempt);
  if (line.kind === 'verify.ran') record.publish(line.kind, dataOf(line), attempt);
}

/** The terminal lines are settled, not repeated. */
function eventOf(line: WorkerLine): EventContent<DurableType> | null {
  switch (line.kind) {
    case 'channel.received':
      return { type: line.kind, data: { messageId: line.id } };
    case 'setup-script.ran':
      return { type: 'script.ran', data: { lens: 'setup', ...dataOf(line) } };
    case 'script.ran':
      return { type: line.kind, data: dataOf(line) };
    case 'runtime.adapter.ran':
      return { type: line.kind, data: dataOf(line) };
    case 'capture.done':
      return { type: line.kind, data: dataOf(line) };
    case 'policy.denied':
      return { type: line.kind, data: dataOf(line) };
    case 'warning':
      return { type: line.kind, data: dataOf(line) };
    default:
      return null;
  }
}

function dataOf<L extends WorkerLine>({
  seq: _seq,
  at: _at,
  kind: _kind,
  ...data
}: L): Omit<L, keyof Numbered> {
  return data;
}
