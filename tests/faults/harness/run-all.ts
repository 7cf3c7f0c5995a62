/** Runs planned cases, a few at a time, and tells each as it ends. */
import { randomOf } from './choose.ts';
import type { Findings, Kind, PlannedCase } from './contract.ts';

export interface Report extends Findings {
  readonly kind: string;
  readonly index: number;
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
    .flatMap((kind) => numbersOf(kind, selection).map((index): Numbered => ({ kind, index })));
  const reports: Report[] = [];
  const serve = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
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

async function runOne({ kind, index }: Numbered, { seed, count }: Selection): Promise<Report> {
  const planned = kind.plan(randomOf(seed, kind.name, index), index, count);
  const runs = kind.countCases === undefined ? '' : ` --count ${count}`;
  const startedMs = performance.now();
  const findings = await runSafely(planned);
  return {
    ...findings,
    kind: kind.name,
    index,
    name: planned.name,
    tookMs: performance.now() - startedMs,
    repeat: `npm run test:faults -- --seed ${seed} --kind ${kind.name} --only ${index}${runs}`,
  };
}

/** A case that cannot be played to its end has not shown that all is well. */
async function runSafely(planned: PlannedCase): Promise<Findings> {
  try {
    return await planned.run();
  } catch (error) {
    return { outcome: 'failed', hasStruck: false, violations: [`harness: ${(error as Error).stack}`] };
  }
}
