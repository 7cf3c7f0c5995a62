/** What the doctor finds, looked for in a thread of its own: the event loop of a host has other things to do. */
import { Worker } from 'node:worker_threads';
import type { Examination } from '../operations/examine-all.ts';
import { bundlePath } from './bundle-path.ts';

/** One examination at a time; who asks meanwhile gets the same. */
export function createExaminer(read: () => { readonly stateDir: string; readonly cwd: string }): {
  examine(): Promise<Examination>;
} {
  let current: Promise<Examination> | null = null;
  return {
    examine: () => (current ??= examineApart(read()).finally(() => (current = null))),
  };
}

async function examineApart(workerData: {
  readonly stateDir: string;
  readonly cwd: string;
}): Promise<Examination> {
  // V8 would make room for ever more young objects, as the examination makes many and is long.
  const resourceLimits = { maxYoungGenerationSizeMb: 16 };
  const options = { workerData, execArgv: [], resourceLimits, name: 'doctor' };
  const thread = new Worker(bundlePath('examine-thread.mjs'), options);
  const found = await new Promise<Examination>((resolve, reject) => {
    thread.on('message', resolve).on('error', reject);
    thread.on('exit', () => reject(new Error('the examination ended early')));
    thread.unref(); // a host that ends does not wait for it
  });
  await thread.terminate();
  return found;
}
