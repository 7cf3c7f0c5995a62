/** Writes measured rows to docs/numbers.md, a section for each bench. The section of a bench that was not measured stays. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import type { BenchRow } from './bench-row.ts';
import { formatNumber } from './format-number.ts';

const ROOT = join(import.meta.dirname, '..');
const PAGE = 'docs/numbers.md';
const HEAD = [
  '<!-- Written by npm run bench -- --publish. Changes made here are lost. -->',
  '# Numbers, measured',
  "Each row is ours and a peer's from one run on one machine, so the ratio is what counts. `npm run bench -- NAME` measures one section again, `npm run bench -- --publish NAME` writes it here.",
].join('\n\n');
const SECTION = /^## /m;

export interface MeasuredBench {
  readonly name: string;
  readonly startedAt: Date;
  /** The load average when it began: what is measured beside other work is worth less. */
  readonly load: number;
  readonly rows: readonly BenchRow[];
}

export function startMeasuring(name: string): Omit<MeasuredBench, 'rows'> {
  return { name, startedAt: new Date(), load: loadavg()[0] ?? 0 };
}

/** `order` is that of the sections. */
export function publish(measured: readonly MeasuredBench[], order: readonly string[]): string {
  const sections = new Map([
    ...readSections(),
    ...measured.map((each) => [each.name, describe(each)] as const),
  ]);
  const known = order.flatMap((name) => sections.get(name) ?? []);
  writeFileSync(join(ROOT, PAGE), `${[HEAD, ...known].join('\n\n')}\n`);
  execFileSync(join(ROOT, 'node_modules/.bin/oxfmt'), [PAGE], { cwd: ROOT });
  return PAGE;
}

function readSections(): [string, string][] {
  if (!existsSync(join(ROOT, PAGE))) return [];
  const [, ...texts] = readFileSync(join(ROOT, PAGE), 'utf8').split(SECTION);
  return texts.map((text) => [text.split('\n', 1)[0] ?? '', `## ${text.trim()}`]);
}

function describe({ name, startedAt, load, rows }: MeasuredBench): string {
  const when = `${startedAt.toISOString().slice(0, 10)}, ${availableParallelism()} cores, load ${load.toFixed(1)} at the start, Node ${process.versions.node}.`;
  const table = [
    '| what | ours | peer | ratio | target | |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows.map(describeRow),
  ];
  const details = rows.flatMap((row) => row.details ?? []);
  const shown = details.length === 0 ? [] : [['```text', ...details, '```'].join('\n')];
  return [`## ${name}`, when, table.join('\n'), ...shown].join('\n\n');
}

function describeRow(row: BenchRow): string {
  const { name, value, unit, peer, peerValue, ratio, target, met, unmeasured } = row;
  if (unmeasured !== undefined)
    return describeCells([name, '', peer, '', target, `not measured: ${unmeasured}`]);
  const peers = `${formatNumber(peerValue)} ${unit}: ${peer}`;
  const cells = [name, `${formatNumber(value)} ${unit}`, peers, `${formatNumber(ratio)}x`, target];
  return describeCells([...cells, met ? 'met' : '**missed**']);
}

function describeCells(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
