import { ModelLevel, RUNTIME_DESCRIPTORS } from '@caisson/protocol';

import { ModelLevelError } from './errors.ts';

/** The runtime's own name for a model: a level is looked up, anything else is already a model name. */
export function resolveModel(runtime: string, model: string): string {
  const level = ModelLevel.safeParse(model);
  if (!level.success) return model;
  const named = Object.values(RUNTIME_DESCRIPTORS).find(({ name }) => name === runtime)?.modelLevels;
  if (named !== undefined) return named[level.data];
  const known = Object.values(RUNTIME_DESCRIPTORS).filter(({ modelLevels }) => modelLevels !== undefined);
  throw new ModelLevelError(`runtime ${runtime} has no model for level "${model}"`, {
    remedy: `Name a model of ${runtime} instead; levels are known for ${known.map(({ name }) => name).join(', ')}.`,
  });
}
