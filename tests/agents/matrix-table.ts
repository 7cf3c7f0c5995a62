/** What the whole matrix found, kept per agent while it runs, and written as docs/agents-matrix.md at its end. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = join(ROOT, '.cache', 'agents-matrix');
const PAGE = join(ROOT, 'docs', 'agents-matrix.md');

export const FAILED = '**FAIL**';

export interface MatrixColumn {
  agent: string;
  version: string;
  /** Another version than the pinned one has a row in the second table. */
  isPinned: boolean;
  /** The day it was tried. */
  on: string;
  /** Title → what stands in the table. */
  cells: Record<string, string>;
}

/** A run of some cells renews these; the others stay as long as the version does, in the order of `titles`. */
export function keepColumn(column: MatrixColumn, titles: readonly string[]): void {
  mkdirSync(FOLDER, { recursive: true });
  const name = `${column.isPinned ? column.agent : `${column.agent}@${column.version}`}.json`;
  const before = existsSync(join(FOLDER, name)) ? readColumn(name) : null;
  const known = { ...(before?.version === column.version ? before.cells : {}), ...column.cells };
  const cells = Object.fromEntries(
    titles.flatMap((title) => (known[title] === undefined ? [] : [[title, known[title]]])),
  );
  writeFileSync(join(FOLDER, name), JSON.stringify({ ...column, cells }));
}

/** A run of some agents renews their columns; the page is written once every agent has one. */
export function writeMatrixPage(agents: readonly string[]): boolean {
  const found = existsSync(FOLDER) ? readdirSync(FOLDER).map(readColumn) : [];
  const columns = agents.flatMap(
    (name) => found.find(({ agent, isPinned }) => isPinned && agent === name) ?? [],
  );
  if (columns.length < agents.length) return false;
  const others = agents.flatMap((name) =>
    found
      .filter(({ agent, isPinned }) => !isPinned && agent === name)
      .toSorted((a, b) => a.version.localeCompare(b.version, 'en', { numeric: true })),
  );
  writeFileSync(PAGE, formatPage(columns, others));
  return true;
}

const readColumn = (name: string): MatrixColumn =>
  JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as MatrixColumn;

function formatPage(columns: readonly MatrixColumn[], others: readonly MatrixColumn[]): string {
  const titles = Object.keys(columns[0]?.cells ?? {});
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const all = columns.flatMap(({ cells }) => Object.values(cells));
  return [
    '<!-- Written by npm run test:agents. Changes made here are lost. -->',
    '',
    '# The agents, tried',
    '',
    `${all.filter((mark) => mark !== FAILED).length} of ${all.length} cells passed: the real programs, sandboxed, driven by the built CLI against the`,
    'testkit’s scripted model. After every run: nothing of it is left running, no address but the model was asked for, the',
    'real key is nowhere in the state folder, and the usage is what the model counted, to the token.',
    '',
    row(['', ...columns.map(({ agent, version, on }) => `${agent} ${version} (${on})`)]),
    row(['---', ...columns.map(() => '---')]),
    ...titles.map((title) => row([title, ...columns.map(({ cells }) => cells[title] ?? '–')])),
    '',
    ...formatVersions(others),
  ].join('\n');
}

/** Rows, because they are many: what did not pass stands by name. */
function formatVersions(others: readonly MatrixColumn[]): readonly string[] {
  if (others.length === 0) return [];
  const row = ({ agent, version, on, cells }: MatrixColumn): string => {
    const failed = Object.entries(cells).filter(([, mark]) => mark === FAILED);
    const passed = Object.keys(cells).length - failed.length;
    const named = failed.map(([title]) => title).join(', ') || '–';
    return `| ${agent} | ${version} (${on}) | ${passed} of ${Object.keys(cells).length} | ${named} |`;
  };
  return [
    '## Other versions',
    '',
    'The same cells, with versions older or newer than the pinned ones. What is older than the oldest one that passed all of',
    'them is refused, see [agents](guides/agents/README.md). Pi 1.5.0 was unpacked: npm does not find all of its parts.',
    '',
    '| runtime | version | passed | failed |',
    '| --- | --- | --- | --- |',
    ...others.map(row),
    '',
  ];
}
