/**
 * What becomes of the lines of a worker. Each line has a number, so that one that was received here and is read again
 * from the worker's events file is recorded once.
 */
import { createReadStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { isErrno } from '@caisson/ground';
import {
  definedOnly,
  WORK_TYPES,
  type DataOf,
  type DurableType,
  type LiveType,
  type ModelCall,
  type ObservedUsage,
  type Usage,
  type WorkerLine,
  type WorkerLineKind,
  type WorkType,
} from '@caisson/protocol';
import type { Budget } from '../budget/index.ts';
import type { RunRecord, StoredEvent } from '../ledger/index.ts';
import { readWorkerStream } from '../supervision/index.ts';
import { createWorkRecord, type WorkRecord } from './work-record.ts';

type LineOf<K extends WorkerLineKind> = Extract<WorkerLine, { kind: K }>;

interface Attempt {
  readonly runId: string;
  readonly attempt: number;
}

/** Where a line goes: into the record, into the limited record of the work, or only to those who listen now. */
interface Destinations {
  keep<T extends DurableType>(type: T, data: DataOf<T>): void;
  /** Mostly the ending comes next. */
  keepWithNext<T extends DurableType>(type: T, data: DataOf<T>): void;
  keepWork<T extends WorkType>(type: T, data: DataOf<T>): void;
  publish<T extends LiveType>(type: T, data: DataOf<T>): void;
  /** What tokens cost. */
  readonly cost: Budget['cost'];
}

/** `null` for what is answered, counted or settled, and not repeated. */
const LINES: { readonly [K in WorkerLineKind]: ((line: LineOf<K>, to: Destinations) => void) | null } = {
  'worker.boot': (line, to) => to.publish(line.kind, dataOf(line)),
  'worker.ready': null,
  'sandbox.started': (line, to) => to.publish(line.kind, dataOf(line)),
  heartbeat: (line, to) => to.publish('worker.heartbeat', dataOf(line)),
  progress: (line, to) => to.publish('worker.progress', dataOf(line)),
  'tool.started': (line, to) => to.keepWork(line.kind, dataOf(line)),
  'tool.ended': (line, to) => to.keepWork(line.kind, dataOf(line)),
  'agent.said': (line, to) => to.keepWork(line.kind, dataOf(line)),
  compaction: (line, to) => to.publish('compaction.started', dataOf(line)),
  request: null,
  'setup-script.ran': (line, to) => to.keep('script.ran', { lens: 'setup', ...dataOf(line) }),
  'runtime.adapter.ran': (line, to) => to.keepWithNext(line.kind, dataOf(line)),
  'script.ran': (line, to) => to.keep(line.kind, dataOf(line)),
  'verify.ran': (line, to) => to.publish(line.kind, dataOf(line)),
  'capture.done': (line, to) => to.keepWithNext(line.kind, dataOf(line)),
  'network.connection': (line, to) => to.keep(line.kind, dataOf(line)),
  'model.called': (line, to) => to.keepWork(line.kind, withCost(dataOf(line), to.cost)),
  'model.usage': null,
  'policy.denied': (line, to) => to.keep(line.kind, dataOf(line)),
  'channel.received': (line, to) => to.keep(line.kind, { messageId: line.id }),
  warning: (line, to) => to.keep(line.kind, dataOf(line)),
  'dispatch.finished': null,
  'dispatch.needs_input': null,
  'dispatch.failed': null,
  'dispatch.cancelled': null,
};

/** Records or publishes the line, as its kind has it; what is past, or of a worker that is gone, is not published. */
export function passOn(
  record: RunRecord,
  work: WorkRecord,
  { runId, attempt }: Attempt,
  line: WorkerLine,
  { cost, isPast = false }: { readonly cost: Budget['cost']; readonly isPast?: boolean },
): void {
  const id = `line:${runId}.${attempt}.${line.seq}`;
  // The compiler does not see that line and handler belong together.
  const handle = LINES[line.kind] as ((line: WorkerLine, to: Destinations) => void) | null;
  const place = { attempt, id, ...(isPast ? { at: line.at } : {}) };
  handle?.(line, {
    keep: (type, data) => record.keep(type, data, place),
    keepWithNext: (type, data) => record.keepWithNext(type, data, place),
    keepWork: (type, data) => work.keep(type, data, id, isPast ? line.at : undefined),
    cost,
    publish: (type, data) => (isPast ? undefined : record.publish(type, data, attempt)),
  });
}

/** What an attempt had used by its worker's lines. */
export interface LeftCounts {
  /** What the broker saw of the model, by the last line about it; null if there is none. */
  readonly seen: ObservedUsage | null;
  /** The agent's own figure, by its last line about it. */
  readonly reported?: Usage;
  readonly turns: number;
  readonly toolCalls: number;
}

/** Records what a dead host had not: the worker writes each line into its file before it prints it. */
export async function keepLeftLines(
  record: RunRecord,
  attempt: Attempt,
  eventsFile: string,
  events: readonly StoredEvent[],
  { model, cost }: { readonly model: string; readonly cost: Budget['cost'] },
): Promise<LeftCounts> {
  const work = createWorkRecord(record, attempt, findRecordedWork(events, attempt));
  const left = await countLeftLines(eventsFile, model, (line) =>
    passOn(record, work, attempt, line, { cost, isPast: true }),
  );
  work.close();
  return left;
}

/**
 * Reads the file of a worker, and records nothing. A worker that wrote none has no counts. `model` is the one that was asked
 * for: the agent's own figure may name none.
 */
export async function countLeftLines(
  eventsFile: string,
  model: string,
  onLine: (line: WorkerLine) => void = () => undefined,
): Promise<LeftCounts> {
  let left: LeftCounts = { seen: null, turns: 0, toolCalls: 0 };
  const file = createReadStream(eventsFile);
  readWorkerStream(file, {
    onHeader: () => undefined,
    onLine(line) {
      if (line.kind === 'model.usage') left = { ...left, seen: line.usage };
      if (line.kind === 'progress') left = withProgress(left, line, model);
      onLine(line);
    },
    onMalformed: () => undefined, // its last line may have been cut off
  });
  try {
    await finished(file);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
  return left;
}

function withProgress(left: LeftCounts, line: LineOf<'progress'>, model: string): LeftCounts {
  return {
    ...left,
    ...definedOnly({ reported: usageOfLine(line, model) }),
    turns: Math.max(left.turns, line.turns ?? 0),
    toolCalls: Math.max(left.toolCalls, line.toolCalls ?? 0),
  };
}

/** What the agent itself says that it has used so far; undefined where the line does not say it. */
export function usageOfLine(line: LineOf<'progress'>, model: string): Usage | undefined {
  if (line.tokensIn === undefined) return undefined;
  const known = line.model ?? model;
  return {
    models: known === '' ? [] : [known],
    inputTokens: line.tokensIn,
    outputTokens: line.tokensOut ?? 0,
    cacheReadTokens: line.cacheReadTokens ?? 0,
    cacheWriteTokens: line.cacheWriteTokens ?? 0,
    ...definedOnly({ costUsd: line.costUsd }),
    turns: line.turns ?? 0,
    toolCalls: line.toolCalls ?? 0,
  };
}

export function findRecordedWork(events: readonly StoredEvent[], { attempt }: Attempt): StoredEvent[] {
  const types: readonly string[] = WORK_TYPES;
  return events.filter((event) => event.attempt === attempt && types.includes(event.type));
}

function withCost(call: ModelCall, cost: Budget['cost']): DataOf<'model.called'> {
  const { model, tokens } = call;
  const usage = {
    models: [model],
    inputTokens: tokens.input,
    outputTokens: tokens.output,
    cacheReadTokens: tokens.cacheRead,
    cacheWriteTokens: tokens.cacheWrite,
  };
  return { ...call, ...definedOnly({ costUsd: cost(usage, model) }) };
}

function dataOf<L extends WorkerLine>({
  seq: _seq,
  at: _at,
  kind: _kind,
  ...data
}: L): Omit<L, 'seq' | 'at' | 'kind'> {
  return data;
}
