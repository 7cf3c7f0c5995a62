/**
 * The path of the first field, at any depth, that a schema left out as it parsed; null when it declares every field.
 * Values that a schema passes on as they are (`unknown`) are the same object on both sides, and are not entered.
 */
export function findStray(given: unknown, parsed: unknown): string | null {
  if (given === parsed || !isObject(given) || !isObject(parsed)) return null;
  for (const key of Object.keys(given)) {
    if (!Object.hasOwn(parsed, key)) return key;
    const below = findStray(given[key], parsed[key]);
    if (below !== null) return `${key}.${below}`;
  }
  return null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
