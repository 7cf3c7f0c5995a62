/** How an event is defined: once, in one manifest. What is not in it cannot be appended. */
import type * as z from 'zod/mini';

export interface EventDefinition<T extends string = string, S extends z.ZodMiniType = z.ZodMiniType> {
  readonly type: T;
  readonly version: number;
  readonly durable: boolean;
  readonly summary: string;
  readonly data: S;
}

const manifest = new Map<string, EventDefinition>();

/** Adds an event to the manifest. A second definition of the same type is a bug and throws. */
export function defineEvent<T extends string, S extends z.ZodMiniType>(
  definition: EventDefinition<T, S>,
): EventDefinition<T, S> {
  if (manifest.has(definition.type)) throw new Error(`the event ${definition.type} is defined twice`);
  manifest.set(definition.type, definition);
  return definition;
}

/** All events by type. */
export function eventManifest(): ReadonlyMap<string, EventDefinition> {
  return manifest;
}
