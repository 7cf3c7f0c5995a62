/** A diff on a terminal: coloured by us alone. A changed line must not be able to hide itself with colours of its own. */
import type { Output } from './output.ts';
import { printable } from './printable.ts';

export function formatDiff(text: string, style: Output['style']): string {
  let isHeader = true;
  return text
    .split('\n')
    .map((line) => {
      if (line.startsWith('diff --git ')) isHeader = true;
      if (line.startsWith('@@ ')) isHeader = false;
      return paintOf(line, isHeader, style)(line.split('\t').map(printable).join('\t'));
    })
    .join('\n');
}

function paintOf(line: string, isHeader: boolean, style: Output['style']): (text: string) => string {
  if (isHeader) return line === '' ? (text) => text : style.bold;
  if (line.startsWith('@@ ')) return style.dim;
  if (line.startsWith('+')) return style.green;
  return line.startsWith('-') ? style.red : (text) => text;
}
