/** The candidate closest to a mistyped name, or null when none is close enough. */
export function findNearest(name: string, candidates: readonly string[]): string | null {
  const typed = name.toLowerCase();
  let best: string | null = null;
  let bestDistance = Infinity;
  for (const candidate of candidates) {
    const isPrefix = typed.length >= 3 && candidate.startsWith(typed);
    const distance = isPrefix ? 1 : countEdits(typed, candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return bestDistance <= Math.max(1, Math.floor(typed.length / 3)) ? best : null;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function countEdits(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  const cell = (row: number, column: number): number => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= from.length; row += 1) {
    rows[row] = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const edits = [cell(row - 1, column) + 1, cell(row, column - 1) + 1];
      edits.push(cell(row - 1, column - 1) + (isSame ? 0 : 1));
      if (isSwap && row > 1 && column > 1) edits.push(cell(row - 2, column - 2) + 1);
      (rows[row] as number[])[column] = Math.min(...edits);
    }
  }
  return cell(from.length, to.length);
}
