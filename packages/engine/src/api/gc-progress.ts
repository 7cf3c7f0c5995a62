/**
 * A garbage collection that another process asked for, with its progress: a line of JSON for each, and the last one has
 * the report, or says what went wrong.
 */
import type { Caisson } from '../caisson-contract.ts';
import { DaemonGoneError, toProblem, toThrown } from './problems.ts';

/** The least time between two lines. */
const EVERY_MS = 100;

type GarbageReport = Awaited<ReturnType<Caisson['gc']>>;
type OnProgress = NonNullable<NonNullable<Parameters<Caisson['gc']>[0]>['onProgress']>;

interface Line {
  readonly progress?: { readonly done: number; readonly total: number };
  readonly report?: GarbageReport;
  readonly problem?: unknown;
}

export async function* sendCollection(
  collect: (onProgress: OnProgress) => Promise<GarbageReport>,
): AsyncGenerator<Buffer, void, void> {
  const state: { next: Line | null; isOver: boolean } = { next: null, isOver: false };
  let news = Promise.withResolvers<void>();
  let sentAtMs = 0;
  const send = (line: Line, isOver = false): void => {
    if (state.isOver) return;
    Object.assign(state, { next: line, isOver });
    news.resolve();
  };
  void collect((done, total) => {
    if (performance.now() - sentAtMs < EVERY_MS) return;
    sentAtMs = performance.now();
    send({ progress: { done, total } });
  }).then(
    (report) => send({ report }, true),
    (error: unknown) => send({ problem: toProblem(error) }, true),
  );
  for (let isLast = false; !isLast;) {
    await news.promise;
    news = Promise.withResolvers();
    isLast = state.isOver;
    yield Buffer.from(`${JSON.stringify(state.next)}\n`);
  }
}

/** The other end. */
export async function readCollection(
  parts: AsyncIterable<Buffer>,
  onProgress: OnProgress,
): Promise<GarbageReport> {
  const decoder = new TextDecoder();
  let waiting = '';
  for await (const part of parts) {
    const lines = (waiting + decoder.decode(part, { stream: true })).split('\n');
    waiting = lines.pop() ?? '';
    for (const line of lines) {
      const { progress, report, problem } = JSON.parse(line) as Line;
      if (progress !== undefined) onProgress(progress.done, progress.total);
      if (problem !== undefined) throw toThrown(problem);
      if (report !== undefined) return report;
    }
  }
  throw new DaemonGoneError('the daemon went away while it cleaned up', undefined);
}
