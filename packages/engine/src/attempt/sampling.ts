/** Sampling options of the agent's definition: the runtime supports each, or the run warns about it by name. */
import type { Sampling } from '@caisson/protocol';
import type { AdmittedRun } from '../admission/index.ts';
import { NO_ATTEMPT, type RunRecord } from '../ledger/index.ts';

const WORDS: Readonly<Record<Sampling, string>> = {
  maxTokens: 'longest answer (maxTokens)',
  temperature: 'temperature',
};

type Sampled = Pick<AdmittedRun, 'agent' | 'runtime'>;

/** The options that the runtime supports. */
export function supportedSampling({ agent, runtime }: Sampled): Partial<Record<Sampling, number>> {
  return Object.fromEntries(
    runtime.descriptor.sampling.flatMap((name) => {
      const value = agent?.definition[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Never dropped silently: the run's record names what had no effect. */
export async function warnUnsupportedSampling(run: Sampled, record: RunRecord): Promise<void> {
  for (const name of ['maxTokens', 'temperature'] as const) {
    const value = run.agent?.definition[name];
    if (value === undefined || run.runtime.descriptor.sampling.includes(name)) continue;
    const message = `${run.runtime.name} does not support the ${WORDS[name]}: ${value}, which agent ${run.agent?.name ?? ''} sets, has no effect`;
    await record.append('warning', { source: 'runtime', message }, NO_ATTEMPT);
  }
}
