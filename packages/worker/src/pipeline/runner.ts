/**
 * Runs the blocks of a pipeline in order. Each block leaves evidence: kind, ordinal, status, exit code, duration.
 * P1  A failed agent or gate ends the pipeline, and its exit code is the attempt's; `verify` and `clean-room` only
 *     report.
 * P2  The seal is not a block: it follows in the attempt, whatever the pipeline says.
 * P3  A stop order ends the pipeline between blocks too.
 */
import type { Block, BlockOutcome } from '@caisson/protocol';
import { type AttemptContext, type StepFailure, throwIfStopped } from '../attempt/index.ts';
import { runAgentBlock } from './blocks/agent.ts';
import { runCaptureBlock } from './blocks/capture.ts';
import { runScriptBlock } from './blocks/script.ts';

/** What a block tells the runner; a failure is recorded as evidence first and thrown after that. */
export interface BlockReport {
  readonly status: BlockOutcome['status'];
  readonly exitCode?: number;
  readonly failure?: StepFailure;
}

export async function runPipeline(context: AttemptContext): Promise<void> {
  for (const [ordinal, block] of context.job.pipeline.blocks.entries()) {
    throwIfStopped(context.control.stop); // P3
    const startedAt = performance.now();
    const report = await runBlock(context, block, ordinal);
    context.gathered.blocks.push({
      kind: block.kind,
      ordinal,
      status: report.status,
      ...(block.kind === 'script' ? { lens: block.lens } : {}),
      ...(report.exitCode === undefined ? {} : { exitCode: report.exitCode }),
      durationMs: Math.round(performance.now() - startedAt),
    });
    if (report.failure === undefined) continue;
    context.gathered.exitCode = report.exitCode ?? null;
    throw report.failure; // P1
  }
  throwIfStopped(context.control.stop);
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
