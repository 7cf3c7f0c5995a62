import type { DriverInput } from './contract.ts';

/** Sampling options of the agent's definition; the program chooses what it leaves out. */
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
