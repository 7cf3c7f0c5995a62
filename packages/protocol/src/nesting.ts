/**
 * How deep what residents say may be nested. JSON of any depth can be parsed, but most of what handles a value afterwards
 * recurses over it, and deep data overflows the stack of the first program that handles it.
 */

/** Of the data of an event in the ledger. */
export const MAX_DATA_LEVELS = 64;
/** Of a value of the user's code: the data of its event is one level around it. */
export const MAX_VALUE_LEVELS = MAX_DATA_LEVELS - 1;
/** Of a line of a guest: a value is three levels inside at most. */
export const MAX_LINE_LEVELS = MAX_VALUE_LEVELS + 3;

/** Whether lists and objects are nested in more levels than this. Recurses no deeper than that. */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isNestedDeeper(member, levels - 1));
}
