/** How the model shall answer: said by the agent's definition, and either taken by the runtime or warned about by name. */
import type { Sampling } from '@caisson/protocol';
import type { AdmittedRun } from './contract.ts';
import type { RunRecord } from '../ledger/index.ts';

const WORDS: Readonly<Record<Sampling, string>> = {
  maxTokens: 'longest answer (maxTokens)',
  temperature: 'temperature',
};

type Sampled = Pick<AdmittedRun, 'agent' | 'runtime'>;

/** What the runtime takes of what the agent says. */
export function takenSampling({ agent, runtime }: Sampled): Partial<Record<Sampling, number>> {
  return Object.fromEntries(
    runtime.descriptor.sampling.flatMap((name) => {
      const value = agent?.definition[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Never dropped in silence: who reads the run sees what had no effect. */
export async function tellUntakenSampling(run: Sampled, record: RunRecord): Promise<void> {
  for (const name of ['maxTokens', 'temperature'] as const) {
    const value = run.agent?.definition[name];
    if (value === undefined || run.runtime.descriptor.sampling.includes(name)) continue;
    await record.append('warning', {
      source: 'runtime',
      message: `${run.runtime.name} takes no ${WORDS[name]}: ${value}, which agent ${run.agent?.name ?? ''} sets, has no effect`,
    });
  }
}
