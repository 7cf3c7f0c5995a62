/** Waits for a run, whichever process drives it, and reports how far it is. */
import { TERMINAL_TYPES } from '@caisson/protocol';
import type { Caisson } from '../../caisson-contract.ts';
import type { McpBench, McpCall } from './contract.ts';
import { findRun } from './find-run.ts';
import { describeProgress, hasEnded, viewRun } from './run-view.ts';

const REPORT_MS = 3000;

/** The run as it is when it has ended, when the time is over, or when the client no longer waits. */
export async function waitForRun(
  { project, bounds }: Pick<McpBench, 'project' | 'bounds'>,
  run: string,
  limitMs: number,
  call: McpCall,
): Promise<Record<string, unknown>> {
  const startedMs = performance.now();
  const leftMs = (): number => Math.max(0, Math.ceil(limitMs - (performance.now() - startedMs)));
  const report = (message: string): void =>
    call.progress((limitMs - leftMs()) / 1000, limitMs / 1000, message);
  const runId = await project.read(async (caisson) => (await findRun(caisson, bounds, run)).runId);
  for (;;) {
    try {
      await project.read((caisson) => waitOnce(caisson, runId, { leftMs, report, signal: call.signal }));
      return await project.read(async (caisson) =>
        viewRun(await findRun(caisson, bounds, runId), await caisson.show(runId)),
      );
    } catch (error) {
      // The daemon went away. The next look is into its record, or at the daemon after it.
      if (!project.isDaemonLoss(error) || leftMs() === 0 || call.signal.aborted) throw error;
    }
  }
}

interface Waiting {
  leftMs(): number;
  report(message: string): void;
  readonly signal: AbortSignal;
}

async function waitOnce(caisson: Caisson, runId: string, { leftMs, report, signal }: Waiting): Promise<void> {
  const row = await rowOf(caisson, runId);
  if (row === undefined || hasEnded(row) || leftMs() === 0) return;
  report(describeProgress(row));
  const over = AbortSignal.any([signal, AbortSignal.timeout(leftMs())]);
  const timer = setInterval(() => {
    void rowOf(caisson, runId).then(
      (now) => now !== undefined && report(describeProgress(now)),
      () => undefined, // the wait itself reports what is wrong
    );
  }, REPORT_MS);
  try {
    for await (const event of caisson.follow(runId, { types: TERMINAL_TYPES, signal: over })) void event;
  } catch (error) {
    if (!over.aborted) throw error;
  } finally {
    clearInterval(timer);
  }
}

async function rowOf(caisson: Caisson, runId: string) {
  return (await caisson.runs({ ids: [runId] }))[0];
}
