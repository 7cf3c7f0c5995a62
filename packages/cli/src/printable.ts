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

/** The same for text of several lines: lines, tabs and colours stay what they are. */
export function printableText(text: string): string {
  return (
    text
      .replaceAll('\r\n', '\n')
      // oxlint-disable-next-line no-control-regex -- a colour starts with one
      .split(/(\n|\t|\u001b\[[0-9;]*m)/)
      .map((part, index) => (index % 2 === 1 ? part : printable(part)))
      .join('')
  );
}
