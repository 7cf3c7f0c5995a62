import type { DriverInput } from './contract.ts';

/** How the model shall answer, as the agent's definition says it; what it leaves out is the program's choice. */
export function samplingOf({ settings }: Pick<DriverInput, 'settings'>): {
  readonly maxTokens?: number;
  readonly temperature?: number;
} {
  const { maxTokens, temperature } = settings;
  return {
    ...(typeof maxTokens === 'number' ? { maxTokens } : {}),
    ...(typeof temperature === 'number' ? { temperature } : {}),
  };
}
