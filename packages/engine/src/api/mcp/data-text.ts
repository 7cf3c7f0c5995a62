/** Values for a model to read (M4). */

/** Controls, marks of direction, invisible characters and tags: a terminal or a model would act on what nobody sees. */
const INVISIBLE =
  /[\u007F-\u009F\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|\u{E0000}|[\u{E0001}-\u{E007F}]/gu;

/** One JSON value in which nothing is invisible. */
export function toDataText(value: unknown): string {
  return JSON.stringify(value, null, 1).replaceAll(INVISIBLE, escapeUnits);
}

/** The same value, with such characters in its texts written out. */
export function toVisible(value: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(
    JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'string' ? part.replaceAll(INVISIBLE, escapeUnits) : part,
    ),
  ) as Record<string, unknown>;
}

function escapeUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}

/** The beginning of a text, with what is missing. */
export function cutEnd(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const end = splitsPair(text, maxCharacters) ? maxCharacters - 1 : maxCharacters;
  return `${text.slice(0, end)}… (${text.length - end} more characters)`;
}

/** The end of a text, with what is missing. */
export function cutStart(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const from = text.length - maxCharacters + (splitsPair(text, text.length - maxCharacters) ? 1 : 0);
  return `(${from} characters before) …${text.slice(from)}`;
}

/** A part of a long text, and where the next one begins. */
export function pageOf(
  text: string,
  offset: number,
  maxCharacters: number,
): { readonly text: string; readonly nextOffset: number | null } {
  const from = Math.min(offset, text.length);
  const full = Math.min(from + maxCharacters, text.length);
  const end = full < text.length && splitsPair(text, full) ? full - 1 : full;
  return { text: text.slice(from, end), nextOffset: end < text.length ? end : null };
}

function splitsPair(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc_00 && unit <= 0xdf_ff;
}
