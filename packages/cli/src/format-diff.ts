/** A diff on a terminal: only we add colours. A changed line must not hide itself with its own colours. */
import type { PatchFile } from '@caisson/engine';
import { formatTable } from './format-table.ts';
import { countFiles } from './format-timeline.ts';
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

/** One line a file, as `git diff --stat` has it, and the sum. */
export function formatDiffStat(files: readonly PatchFile[], style: Style): Lines {
  const cells = files.map((file) => [nameOf(file), ...countsOf(file, style)]);
  const sum = (count: (file: PatchFile) => number): number =>
    files.reduce((total, file) => total + count(file), 0);
  const [added, removed] = [sum(({ linesAdded }) => linesAdded), sum(({ linesRemoved }) => linesRemoved)];
  const lines = `${added} ${added === 1 ? 'line' : 'lines'} added, ${removed} removed`;
  return [...formatTable(cells), `${countFiles(files.length)}, ${lines}`];
}

function nameOf({ path, previousPath }: PatchFile): string {
  return previousPath === undefined ? path : `${previousPath} → ${path}`;
}

function countsOf({ linesAdded, linesRemoved, binary, status }: PatchFile, style: Style): Line[] {
  const lines = binary ? ['binary', ''] : [style.green(`+${linesAdded}`), style.red(`-${linesRemoved}`)];
  return [...lines, status === 'modified' ? '' : status];
}
