import { widthOf } from './format-values.ts';
import { printable } from './printable.ts';

/** Breaks a long line between words, so that what follows can be indented. A word that is too long stays whole. */
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
  return [...lines, current.trimEnd()];
}
