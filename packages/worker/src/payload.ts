/** Steps 10 to 12: the channel is open for as long as the pipeline runs. */
import { type AttemptContext, openChannel, inStep, type StepFailure, StoppedError } from './attempt/index.ts';
import { runPipeline } from './pipeline/index.ts';

export interface PayloadParts {
  /** Returns a function that closes it. */
  openChannel(context: AttemptContext): () => void;
  runPipeline(context: AttemptContext): Promise<void>;
}

/**
 * A failed agent may still have left a question, so its failure is returned, not thrown. It came first: a later error
 * while closing the channel does not replace it.
 */
export async function runPayload(
  context: AttemptContext,
  parts: PayloadParts = { openChannel, runPipeline },
): Promise<StepFailure | null> {
  const closeChannel = await inStep('open-channel', 'worker-failed', () => parts.openChannel(context));
  let failure: StepFailure | StoppedError | null = null;
  try {
    await inStep('pipeline', 'worker-failed', () => parts.runPipeline(context));
  } catch (error) {
    failure = error as StepFailure | StoppedError;
  }
  try {
    await inStep('close-channel', 'worker-failed', closeChannel);
  } catch (error) {
    failure ??= error as StepFailure;
  }
  if (failure instanceof StoppedError) throw failure;
  return failure;
}
