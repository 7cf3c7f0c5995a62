/**
 * What a terminal obeys instead of showing: control characters (C0, C1, DEL), line and paragraph separators, and
 * invisible format characters, among them those that change the direction of writing. With them a name could look like
 * another one, or like another line.
 */
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Whether a text has only printable ASCII characters. Nearly every text does: the tables of Unicode are slow. */
export function isPlainAscii(text: string): boolean {
  return /^[ -~]*$/.test(text);
}

/** The text on one line, safe to show: what a terminal would obey is shown as its number. */
export function printable(text: string): string {
  if (isPlainAscii(text)) return text;
  return text.replaceAll(OBEYED, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}

/** The lines of a text, each printable. Tabs stay; styles that a program chose are left out. */
export function printableLines(text: string): string[] {
  return text.replaceAll('\r\n', '\n').split('\n').map(printableLine);
}

/** JSON with the same meaning that is printable. Outside of strings only its line breaks are such characters. */
export function printableJson(json: string): string {
  return json.replaceAll(OBEYED, (character) =>
    character === '\n'
      ? character
      : Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
          .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
          .join(''),
  );
}

/** Split first: the rest of two nested styles must not become a third. */
function printableLine(line: string): string {
  return line
    .split(/(\t|\u001b\[[0-9;:]*m)/)
    .map((part, index) => (index % 2 === 0 ? printable(part) : part === '\t' ? part : ''))
    .join('');
}
