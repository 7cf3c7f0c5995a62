/** A diff on a terminal: only we add colours. A changed line must not hide itself with its own colours. */
import { exactLine, type Line, type Lines, type Style } from './painted.ts';

export function formatDiff(text: string, style: Style): Lines {
  let isHeader = true;
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => {
      if (line.startsWith('diff --git ')) isHeader = true;
      if (line.startsWith('@@ ')) isHeader = false;
      return paintOf(line, isHeader, style)(exactLine(line));
    });
}

function paintOf(line: string, isHeader: boolean, style: Style): (text: Line) => Line {
  if (isHeader) return line === '' ? (text) => text : style.bold;
  if (line.startsWith('@@ ')) return style.dim;
  if (line.startsWith('+')) return style.green;
  return line.startsWith('-') ? style.red : (text) => text;
}
