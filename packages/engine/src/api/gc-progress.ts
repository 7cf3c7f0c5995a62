/**
 * A garbage collection that another process asked for, with its progress and its warnings: a line of JSON for each, and the
 * last one has the report, or says what went wrong.
 */
import { setImmediate } from 'node:timers/promises';
import { BusTopic, type BusPayloads } from '@caisson/protocol';
import type { Caisson } from '../caisson-contract.ts';
import { DaemonGoneError, toProblem, toThrown } from './problems.ts';

/** The least time between two lines. */
const EVERY_MS = 100;

/** What a collection reports beside its report. */
const SOURCES = new Set(['apply', 'store', 'sweep']);

type GarbageReport = Awaited<ReturnType<Caisson['gc']>>;
type GarbageOptions = NonNullable<Parameters<Caisson['gc']>[0]>;
type OnProgress = NonNullable<GarbageOptions['onProgress']>;

interface Line {
  readonly warning?: BusPayloads[typeof BusTopic.WARNING];
  readonly progress?: { readonly done: number; readonly total: number };
  readonly report?: GarbageReport;
  readonly problem?: unknown;
}

export async function* sendCollection(
  caisson: Pick<Caisson, 'bus' | 'gc'>,
  how: GarbageOptions,
): AsyncGenerator<Buffer, void, void> {
  let [isOver, sentAtMs] = [false, 0];
  let lines: Line[] = [];
  let news = Promise.withResolvers<void>();
  const send = (line: Line): void => {
    lines.push(line);
    news.resolve();
  };
  const onProgress: OnProgress = (done, total) => {
    if (performance.now() - sentAtMs < EVERY_MS) return;
    sentAtMs = performance.now();
    send({ progress: { done, total } });
  };
  const unsubscribe = caisson.bus.on(BusTopic.WARNING, (warning) => {
    if (SOURCES.has(warning.source)) send({ warning });
  });
  void caisson
    .gc({ ...how, onProgress })
    .then(
      (report): Line => ({ report }),
      (error: unknown): Line => ({ problem: toProblem(error) }),
    )
    .then(async (last) => {
      await setImmediate(); // the bus delivers in a later turn
      unsubscribe();
      isOver = true;
      send(last);
    });
  for (let isLast = false; !isLast;) {
    await news.promise;
    news = Promise.withResolvers();
    isLast = isOver;
    const texts = lines.map((line) => `${JSON.stringify(line)}\n`);
    lines = [];
    yield Buffer.from(texts.join(''));
  }
}

/** The other end. */
export async function readCollection(
  parts: AsyncIterable<Buffer>,
  bus: Caisson['bus'],
  onProgress: OnProgress = () => undefined,
): Promise<GarbageReport> {
  const decoder = new TextDecoder();
  let waiting = '';
  for await (const part of parts) {
    const lines = (waiting + decoder.decode(part, { stream: true })).split('\n');
    waiting = lines.pop() ?? '';
    for (const line of lines) {
      const { warning, progress, report, problem } = JSON.parse(line) as Line;
      if (warning !== undefined) bus.emit(BusTopic.WARNING, warning);
      if (progress !== undefined) onProgress(progress.done, progress.total);
      if (problem !== undefined) throw toThrown(problem);
      if (report !== undefined) return report;
    }
  }
  throw new DaemonGoneError('the daemon went away while it cleaned up', undefined);
}
