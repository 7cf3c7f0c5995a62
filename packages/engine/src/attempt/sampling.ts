/** Sampling options of the request or of the agent's definition: the runtime supports each, or the run warns about it by name. */
import type { Sampling } from '@caisson/protocol';
import type { AdmittedRun } from '../admission/index.ts';
import { NO_ATTEMPT, type RunRecord } from '../ledger/index.ts';

const WORDS: Readonly<Record<Sampling, string>> = {
  maxTokens: 'longest answer (maxTokens)',
  temperature: 'temperature',
};

type Sampled = Pick<AdmittedRun, 'agent' | 'runtime' | 'request'>;

function valueOf({ request, agent }: Sampled, name: Sampling): number | undefined {
  return request.llm?.[name] ?? agent?.definition[name];
}

/** The options that the runtime supports. */
export function supportedSampling(run: Sampled): Partial<Record<Sampling, number>> {
  return Object.fromEntries(
    run.runtime.descriptor.sampling.flatMap((name) => {
      const value = valueOf(run, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Never dropped silently: the run's record names what had no effect. */
export async function warnUnsupportedSampling(run: Sampled, record: RunRecord): Promise<void> {
  for (const name of ['maxTokens', 'temperature'] as const) {
    const value = valueOf(run, name);
    if (value === undefined || run.runtime.descriptor.sampling.includes(name)) continue;
    const message = `${run.runtime.name} does not support the ${WORDS[name]}: ${value}, which ${describeSource(run, name)} sets, has no effect`;
    await record.append('warning', { source: 'runtime', message }, NO_ATTEMPT);
  }
}

function describeSource({ request, agent }: Sampled, name: Sampling): string {
  return request.llm?.[name] === undefined ? `agent ${agent?.name ?? ''}` : 'the request';
}
