import { joinLine, padLine, widthOfLine, type Line, type Lines, type Painted } from './painted.ts';

/** Columns of equal width, the first row bold where a style is given. */
export function formatTable(rows: readonly Lines[], bold: (text: Line) => Line = (text) => text): Line[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => widthOfLine(row[column] ?? ''))),
  );
  return rows.map((row, index) => (index === 0 ? bold(formatRow(row, widths)) : formatRow(row, widths)));
}

/** Nothing is padded at the end of a line. */
function formatRow(row: Lines, widths: readonly number[]): Painted {
  const last = row.findLastIndex((cell) => widthOfLine(cell) > 0);
  const cells = row.slice(0, last + 1);
  return joinLine(
    cells.map((cell, column) => (column === last ? cell : padLine(cell, widths[column] ?? 0))),
    '  ',
  );
}
