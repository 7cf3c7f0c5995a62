/** Runs planned cases, a few at a time, and reports each as it ends. */
import { randomOf } from './choose.ts';
import type { Findings, Kind, PlannedCase } from './contract.ts';

export interface Report extends Findings {
  readonly kind: string;
  readonly index: number;
  readonly seed: number;
  readonly name: string;
  readonly tookMs: number;
  /** The one line that repeats it. */
  readonly repeat: string;
}

export interface Selection {
  readonly kinds: readonly Kind[];
  readonly seed: number;
  readonly count: number;
  readonly only: number | null;
  readonly jobs: number;
  /** Decides by the line that repeats it whether a case is not to be tried again. */
  isKnown?(repeat: string): boolean;
  /** Those that are under way end in order, and none is begun. */
  readonly signal?: AbortSignal;
}

interface Numbered {
  readonly kind: Kind;
  readonly index: number;
}

export async function runAll(
  selection: Selection,
  onReport: (report: Report) => void = () => undefined,
): Promise<Report[]> {
  const waiting = selection.kinds
    .filter((kind) => kind.findObstacle() === null)
    .flatMap((kind) => numbersOf(kind, selection).map((index): Numbered => ({ kind, index })))
    .filter((numbered) => selection.isKnown?.(repeatOf(numbered, selection)) !== true)
    .toSorted((left, right) => left.index - right.index); // so that one that is stopped has tried every kind
  const reports: Report[] = [];
  const serve = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (selection.signal?.aborted === true) return;
      const report = await runOne(next, selection);
      reports.push(report);
      onReport(report);
    }
  };
  await Promise.all(Array.from({ length: selection.jobs }, serve));
  return reports;
}

function numbersOf(kind: Kind, { count, only }: Selection): number[] {
  if (only !== null) return [only];
  return Array.from({ length: kind.countCases?.(count) ?? count }, (_, index) => index);
}

function repeatOf({ kind, index }: Numbered, { seed, count }: Selection): string {
  const runs = kind.countCases === undefined ? '' : ` --count ${count}`;
  return `npm run test:faults -- --seed ${seed} --kind ${kind.name} --only ${index}${runs}`;
}

async function runOne(numbered: Numbered, selection: Selection): Promise<Report> {
  const { kind, index } = numbered;
  const { seed, count } = selection;
  const planned = kind.plan(randomOf(seed, kind.name, index), index, count);
  const startedMs = performance.now();
  const findings = await runSafely(planned);
  return {
    ...findings,
    kind: kind.name,
    index,
    seed,
    name: planned.name,
    tookMs: performance.now() - startedMs,
    repeat: repeatOf(numbered, selection),
  };
}

/** A case that cannot be played to its end has not shown that all is well. */
async function runSafely(planned: PlannedCase): Promise<Findings> {
  try {
    return await planned.run();
  } catch (error) {
    return { outcome: 'failed', struck: 0, missed: 1, violations: [`harness: ${(error as Error).stack}`] };
  }
}
