import { MAX_DATA_LEVELS } from '@caisson/protocol';
import { InvalidEventError } from './errors.ts';

/**
 * One text for one value: members sorted by name, no blanks, numbers as ECMAScript prints them. `undefined` members are
 * dropped; what JSON cannot express is refused, so that nothing changes on its way to disk.
 */
export function canonicalJson(value: unknown, depth = 0): string {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return JSON.stringify(value);
  if (typeof value === 'number') return numberText(value);
  if (typeof value !== 'object') throw new InvalidEventError(`a ${typeof value} is not a JSON value`);
  if (depth >= MAX_DATA_LEVELS)
    throw new InvalidEventError(`data is nested deeper than ${MAX_DATA_LEVELS} levels`);
  if (Array.isArray(value)) return arrayText(value, depth);
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return canonicalJson(value.toJSON(), depth + 1);
  return objectText(value, depth);
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) throw new InvalidEventError(`${value} is not a JSON number`);
  return Object.is(value, -0) ? '0' : String(value);
}

function arrayText(values: readonly unknown[], depth: number): string {
  return `[${values.map((item) => (item === undefined ? 'null' : canonicalJson(item, depth + 1))).join(',')}]`;
}

function objectText(value: object, depth: number): string {
  const members = value as Record<string, unknown>;
  let text = '';
  for (const key of sortedKeys(members)) {
    const member = members[key];
    if (member === undefined) continue;
    const memberText = typeof member === 'string' ? JSON.stringify(member) : canonicalJson(member, depth + 1);
    text += (text === '' ? '' : ',') + nameText(key) + memberText;
  }
  return `{${text}}`;
}

function sortedKeys(members: Record<string, unknown>): string[] {
  const keys = Object.keys(members);
  for (let index = 1; index < keys.length; index += 1) {
    if ((keys[index - 1] ?? '') > (keys[index] ?? '')) return keys.sort();
  }
  return keys;
}

const MAX_NAMES = 1_000;
const nameTexts = new Map<string, string>();

/** The same few names are in every event; quoting them each time is half of the work. */
function nameText(name: string): string {
  const known = nameTexts.get(name);
  if (known !== undefined) return known;
  const text = `${JSON.stringify(name)}:`;
  if (nameTexts.size < MAX_NAMES && name.length <= 64) nameTexts.set(name, text);
  return text;
}
