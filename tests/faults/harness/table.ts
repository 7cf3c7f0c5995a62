/** The table of a run of the harness: kinds by outcomes. */
import type { Kind, Outcome } from './contract.ts';
import type { Report } from './run-all.ts';

const HEAD = [
  ...['kind', 'cases', 'struck', 'done', 'failed', 'interrupted', 'refused', 'violations'],
  ...['median s', 'longest s'],
];

export function createTable(kinds: readonly Kind[], reports: readonly Report[]): string[][] {
  const rows = kinds.map((kind) => {
    const obstacle = kind.findObstacle();
    const own = reports.filter((report) => report.kind === kind.name);
    return obstacle === null
      ? describeRow(kind.name, own)
      : [kind.name, '0', `not possible here: ${obstacle}`];
  });
  return [HEAD, ...rows, describeRow('all', reports)];
}

function describeRow(name: string, reports: readonly Report[]): string[] {
  const count = (outcome: Outcome): string =>
    String(reports.filter((each) => each.outcome === outcome).length);
  const seconds = reports.map(({ tookMs }) => tookMs / 1000).toSorted((a, b) => a - b);
  return [
    name,
    String(reports.length),
    String(countStruck(reports)),
    ...[count('done'), count('failed'), count('interrupted'), count('refused')],
    String(reports.filter(({ violations }) => violations.length > 0).length),
    (seconds[Math.floor(seconds.length / 2)] ?? 0).toFixed(1),
    (seconds.at(-1) ?? 0).toFixed(1),
  ];
}

/** A case has one fault, or two. */
export function countStruck(reports: readonly Report[]): number {
  return reports.reduce((sum, { struck }) => sum + struck, 0);
}

export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => widthOf(row, column))));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** The sentence of a kind that is not possible here may be as long as it likes. */
function widthOf(row: readonly string[], column: number): number {
  return row.length < HEAD.length && column === row.length - 1 ? 0 : (row[column]?.length ?? 0);
}

export function formatMarkdown(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows;
  const line = (cells: readonly string[]): string =>
    `| ${HEAD.map((_, column) => cells[column] ?? '').join(' | ')} |`;
  return [line(head), `| ${HEAD.map(() => '---').join(' | ')} |`, ...body.map(line)].join('\n');
}
