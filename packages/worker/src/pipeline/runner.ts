/**
 * Runs the blocks of a pipeline in order. Each block leaves evidence: kind, ordinal, status, exit code, duration.
 * P1  A failed agent or gate ends the pipeline, and its exit code is the attempt's; `verify` and `clean-room` only
 *     report.
 * P2  The result is not a block: it is written afterwards, whatever the pipeline says.
 * P3  A stop order ends the pipeline between blocks too.
 * P4  After a failure the outputs are still captured, if the pipeline captures them later: they may say what went
 *     wrong. The failure stays the one that came first.
 */
import { definedOnly, type Block, type BlockOutcome } from '@caisson/protocol';
import { type AttemptContext, describeThrown, type StepFailure, throwIfStopped } from '../attempt/index.ts';
import { runAgentBlock } from './blocks/agent.ts';
import { runCaptureBlock } from './blocks/capture.ts';
import { runScriptBlock } from './blocks/script.ts';

/** A block's report to the runner; a failure is recorded first and thrown after that. */
export interface BlockReport {
  readonly status: BlockOutcome['status'];
  readonly exitCode?: number;
  readonly failure?: StepFailure;
}

export async function runPipeline(context: AttemptContext): Promise<void> {
  for (const [ordinal, block] of context.job.pipeline.blocks.entries()) {
    throwIfStopped(context.control.stop); // P3
    const report = await runRecorded(context, block, ordinal);
    if (report.failure === undefined) continue;
    context.gathered.exitCode = report.exitCode ?? null;
    if (block.kind !== 'capture') await captureOutputsAfter(context, ordinal);
    throw report.failure; // P1
  }
  throwIfStopped(context.control.stop);
}

async function runRecorded(context: AttemptContext, block: Block, ordinal: number): Promise<BlockReport> {
  const startedAt = performance.now();
  const report = await runBlock(context, block, ordinal);
  context.gathered.blocks.push({
    kind: block.kind,
    ordinal,
    status: report.status,
    ...(block.kind === 'script' ? { lens: block.lens } : {}),
    ...definedOnly({ exitCode: report.exitCode }),
    durationMs: Math.round(performance.now() - startedAt),
  });
  return report;
}

/** P4 */
async function captureOutputsAfter(context: AttemptContext, failedOrdinal: number): Promise<void> {
  const { control, job, writer } = context;
  const later = [...job.pipeline.blocks.entries()].slice(failedOrdinal + 1);
  const [ordinal, block] = later.find(([, next]) => next.kind === 'capture' && next.what === 'outputs') ?? [];
  if (ordinal === undefined || block === undefined || control.stop.aborted) return;
  const warn = (message: string): void => writer.write({ kind: 'warning', source: 'outputs', message });
  try {
    const { failure } = await runRecorded(context, block, ordinal);
    if (failure !== undefined) warn(failure.message);
  } catch (error) {
    warn(describeThrown(error));
  }
}

function runBlock(context: AttemptContext, block: Block, ordinal: number): Promise<BlockReport> {
  switch (block.kind) {
    case 'agent':
      return runAgentBlock(context);
    case 'script':
      return runScriptBlock(context, block, ordinal);
    case 'capture':
      return runCaptureBlock(context, block);
  }
}
