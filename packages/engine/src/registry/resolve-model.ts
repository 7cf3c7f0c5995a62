import { ModelLevel } from '@caisson/protocol';

import { ModelLevelError } from './errors.ts';
import levels from './model-levels.json' with { type: 'json' };

/** The runtime's own name for a model: a level is looked up, anything else is already a model name. */
export function resolveModel(runtime: string, model: string): string {
  const level = ModelLevel.safeParse(model);
  if (!level.success) return model;
  const table = Object.entries(levels).find(([name]) => name === runtime)?.[1];
  if (table !== undefined) return table[level.data];
  throw new ModelLevelError(`runtime ${runtime} has no model for level "${model}"`, {
    remedy: `Name a model of ${runtime} instead; levels are known for ${Object.keys(levels).join(', ')}.`,
  });
}
