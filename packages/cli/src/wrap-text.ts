import { widthOf } from './format-values.ts';

/** Breaks long lines between words, so that what follows can be indented. A word that is too long stays whole. */
export function wrapText(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) => wrapLine(line, columns));
}

function wrapLine(line: string, columns: number): string[] {
  if (widthOf(line) <= columns) return [line];
  const lines: string[] = [];
  let current = '';
  for (const word of line.split(/(?<=\s)(?=\S)/)) {
    if (current.trim() !== '' && widthOf((current + word).trimEnd()) > columns) {
      lines.push(current.trimEnd());
      current = '';
    }
    current += word;
  }
  return [...lines, current.trimEnd()];
}
