import { widthOf } from './format-values.ts';
import { printable } from './printable.ts';

/**
 * Breaks a long line between words, so that what follows can be indented; a word that is too long is broken too. No line
 * is wider: what a terminal breaks begins in its first column, where our own lines are.
 */
export function wrapText(text: string, columns: number): string[] {
  const whole = printable(text);
  if (widthOf(whole) <= columns) return [whole];
  const lines: string[] = [];
  let current = '';
  for (const word of whole.split(/(?<=\s)(?=\S)/)) {
    if (current.trim() !== '' && widthOf((current + word).trimEnd()) > columns) {
      lines.push(current.trimEnd());
      current = '';
    }
    current += word;
  }
  return [...lines, current.trimEnd()].flatMap((one) => breakAtWidth(one, columns));
}

function breakAtWidth(text: string, columns: number): string[] {
  if (widthOf(text) <= columns) return [text];
  const parts: string[] = [];
  let part = '';
  let width = 0;
  for (const character of text) {
    width += widthOf(character);
    if (part !== '' && width > columns) {
      parts.push(part);
      part = '';
      width = widthOf(character);
    }
    part += character;
  }
  return [...parts, part];
}
