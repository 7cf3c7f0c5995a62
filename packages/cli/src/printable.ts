/**
 * Text that an agent chose, fit to stand before a person's eyes: control and direction characters, with which a line
 * could pretend to be another one, are shown instead of obeyed.
 */
export function printable(text: string): string {
  return text.replaceAll(
    // oxlint-disable-next-line no-control-regex -- these are the very characters to show
    /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}

/** Colours that a theme can have and nobody can hide behind: not 8 (concealed), nor colours by number, black on black. */
const HONEST_STYLES = new Set([0, 1, 2, 3, 4, 22, 23, 24, ...range(31, 37), 39, ...range(91, 97)]);

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** The same for text of several lines: lines, tabs and honest colours stay what they are, other styles are left out. */
export function printableText(text: string): string {
  return (
    text
      .replaceAll('\r\n', '\n')
      // oxlint-disable-next-line no-control-regex -- a colour starts with one
      .split(/(\n|\t|\u001b\[[0-9;]*m)/)
      .map((part, index) => (index % 2 === 0 ? printable(part) : isHonest(part) ? part : ''))
      .join('')
  );
}

function isHonest(part: string): boolean {
  if (part === '\n' || part === '\t') return true;
  const styles = part.slice(2, -1).split(';');
  return styles.every((style) => HONEST_STYLES.has(Number(style)));
}
