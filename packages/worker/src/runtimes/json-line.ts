// Reads lines of other programs: nothing is trusted, nothing throws.

export type Json = Readonly<Record<string, unknown>>;

/** The object on a line; `null` if there is none. */
export function parseJsonLine(line: string): Json | null {
  if (!line.startsWith('{')) return null;
  try {
    return objectOf(JSON.parse(line));
  } catch {
    return null; // a half line or a log line: the caller reports drift
  }
}

export const objectOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
export const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.map(objectOf) : []);
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const numberOf = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;

/** The reason that a program gives for something, where it gives one. */
export function reasonOf(value: unknown): { reason?: string } {
  return typeof value === 'string' && value !== '' ? { reason: value } : {};
}
