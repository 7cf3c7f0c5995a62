/**
 * The user's file below the project's: maps are merged, lists are joined, and a single value of the project replaces
 * the user's. What must not be mixed, such as a service's address with another one's key, is replaced as a whole.
 */
import { isDeepStrictEqual } from 'node:util';
import { isRecord, type ConfigFile } from '@caisson/protocol';

/** The project's entry replaces the user's of the same name. */
const TAKEN_WHOLE = [
  /^envs\.[^.]+$/,
  /^pipelines\.[^.]+$/,
  /^network\.services\.[^.]+$/,
  /^store\.s3$/,
  /^telemetry$/,
];

export function mergeFiles(user: ConfigFile, project: ConfigFile): ConfigFile {
  return merge(user, project, '') as ConfigFile;
}

function merge(below: unknown, above: unknown, path: string): unknown {
  if (above === undefined) return below;
  if (below === undefined || TAKEN_WHOLE.some((pattern) => pattern.test(path))) return above;
  if (Array.isArray(below) && Array.isArray(above)) return join(below, above);
  if (!isRecord(below) || !isRecord(above)) return above;
  const merged: Record<string, unknown> = { ...below };
  for (const [key, value] of Object.entries(above))
    merged[key] = merge(below[key], value, path === '' ? key : `${path}.${key.replaceAll('.', '_')}`);
  return merged;
}

function join(below: readonly unknown[], above: readonly unknown[]): unknown[] {
  return [...below, ...above.filter((item) => !below.some((other) => isDeepStrictEqual(item, other)))];
}
