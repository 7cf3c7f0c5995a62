/** Merges one JSON value into another. What cannot be merged is a conflict with its place, never a silent choice. */
import { isDeepStrictEqual } from 'node:util';

export type ArrayMerge = 'union' | 'replace' | 'concat';

/** Two values at one place that are not of the same kind. */
export interface JsonConflict {
  /** For example `$.permissions.allow`. */
  readonly at: string;
  readonly before: string;
  readonly after: string;
}

export type Merged =
  | { readonly kind: 'merged'; readonly value: unknown }
  | { readonly kind: 'conflict'; readonly conflict: JsonConflict };

class ConflictFound extends Error {
  readonly conflict: JsonConflict;

  constructor(conflict: JsonConflict) {
    super(conflict.at);
    this.conflict = conflict;
  }
}

export function deepMerge(before: unknown, after: unknown, arrays: ArrayMerge): Merged {
  return attempt(() => mergeValue(before, after, arrays, '$'));
}

/** Both must be arrays; equal elements are kept once. */
export function unionArrays(before: unknown, after: unknown): Merged {
  return attempt(() => {
    if (Array.isArray(before) && Array.isArray(after)) return union(before, after);
    throw new ConflictFound({ at: '$', before: kindOf(before), after: kindOf(after) });
  });
}

/** Where a document has the member `__proto__`, at any depth; null when it has none. */
export function findProtoMember(value: unknown, at = '$'): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Object.hasOwn(value, '__proto__')) return `${at}.__proto__`;
  for (const [key, member] of Object.entries(value)) {
    const found = findProtoMember(member, Array.isArray(value) ? `${at}[${key}]` : `${at}.${key}`);
    if (found !== null) return found;
  }
  return null;
}

/** Whether the document has anything at the place a conflict names. */
export function hasPlace(value: unknown, at: string): boolean {
  let here = value;
  for (const key of at.split('.').slice(1)) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, key)) return false;
    here = (here as Record<string, unknown>)[key];
  }
  return true;
}

function attempt(merge: () => unknown): Merged {
  try {
    return { kind: 'merged', value: merge() };
  } catch (error) {
    if (error instanceof ConflictFound) return { kind: 'conflict', conflict: error.conflict };
    throw error;
  }
}

function mergeValue(before: unknown, after: unknown, arrays: ArrayMerge, at: string): unknown {
  if (before === null || after === null) return after; // null is not a kind
  const [was, is] = [kindOf(before), kindOf(after)];
  if (was !== is) throw new ConflictFound({ at, before: was, after: is });
  if (Array.isArray(before) && Array.isArray(after)) return mergeArrays(before, after, arrays);
  if (is === 'object')
    return mergeObjects(before as Record<string, unknown>, after as Record<string, unknown>, arrays, at);
  return after;
}

function mergeObjects(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
  arrays: ArrayMerge,
  at: string,
): Record<string, unknown> {
  const merged = { ...before };
  for (const [key, value] of Object.entries(after))
    merged[key] = Object.hasOwn(before, key) ? mergeValue(before[key], value, arrays, `${at}.${key}`) : value;
  return merged;
}

function mergeArrays(before: unknown[], after: unknown[], how: ArrayMerge): unknown[] {
  if (how === 'replace') return after;
  return how === 'concat' ? [...before, ...after] : union(before, after);
}

function union(before: unknown[], after: unknown[]): unknown[] {
  const all = [...before];
  for (const item of after) if (!all.some((known) => isDeepStrictEqual(known, item))) all.push(item);
  return all;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
