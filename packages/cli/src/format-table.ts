import { joinLine, padLine, widthOfLine, type Line, type Lines, type Painted } from './painted.ts';
import { wrapText } from './wrap-text.ts';

const GAP = '  ';
const LEAST_COLUMNS = 10;

/**
 * Columns of equal width, the first row bold where a style is given. Where they do not fit, the widest are wrapped, but never
 * the first: it names what the row is about, and is copied.
 */
export function formatTable(
  rows: readonly Lines[],
  bold: (text: Line) => Line = (text) => text,
  columns = Infinity,
): Line[] {
  const widths = fitWidths(
    (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => widthOfLine(row[column] ?? '')))),
    columns,
  );
  return rows.flatMap((row, index) => {
    const lines = wrapRow(row, widths).map((cells) => formatRow(cells, widths));
    return index === 0 ? lines.map(bold) : lines;
  });
}

function fitWidths(natural: readonly number[], columns: number): number[] {
  const widths = [...natural];
  const total = (): number => widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  const most = (): number => Math.max(...widths.slice(1));
  while (total() > columns && most() > LEAST_COLUMNS) {
    const widest = widths.lastIndexOf(most());
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

/** A painted cell is short, and stays as it is. */
function wrapRow(row: Lines, widths: readonly number[]): Lines[] {
  const cells = row.map((cell, column) =>
    typeof cell === 'string' && widthOfLine(cell) > (widths[column] ?? 0)
      ? wrapText(cell, widths[column] ?? 0)
      : [cell],
  );
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, index) => cells.map((lines) => lines[index] ?? ''));
}

/** Nothing is padded at the end of a line. */
function formatRow(row: Lines, widths: readonly number[]): Painted {
  const last = row.findLastIndex((cell) => widthOfLine(cell) > 0);
  const cells = row.slice(0, last + 1);
  return joinLine(
    cells.map((cell, column) => (column === last ? cell : padLine(cell, widths[column] ?? 0))),
    GAP,
  );
}
