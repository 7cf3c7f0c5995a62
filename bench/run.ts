// Re-runs every published number: node bench/run.ts [--json FILE] [names…]
// Without names all benches run. Exit code 1 when a target was missed, 2 when a name is unknown.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { isBenchModule, type BenchRow } from './bench-row.ts';
import { BENCH_MODULES } from './index.ts';

const { values: flags, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' } },
});
process.exitCode = await main();

async function main(): Promise<number> {
  const unknown = asked.filter((name) => !(name in BENCH_MODULES));
  if (unknown.length > 0) {
    process.stderr.write(
      `No bench is called ${unknown.join(', ')}; there are ${Object.keys(BENCH_MODULES).join(', ')}.\n`,
    );
    return 2;
  }
  const rows: BenchRow[] = [];
  for (const name of asked.length > 0 ? asked : Object.keys(BENCH_MODULES)) {
    process.stderr.write(`measuring ${name} …\n`);
    const measured = await measure(name);
    process.stdout.write(`${measured.map(formatRow).join('\n')}\n`);
    rows.push(...measured);
  }
  if (flags.json !== undefined) writeFileSync(flags.json, `${JSON.stringify(describeRun(rows), null, 2)}\n`);
  const missed = rows.filter((row) => !row.met).length;
  process.stdout.write(`\n${rows.length - missed} of ${rows.length} targets met\n`);
  return missed === 0 ? 0 : 1;
}

async function measure(name: string): Promise<BenchRow[]> {
  const module: unknown = await import(BENCH_MODULES[name] as string);
  if (!isBenchModule(module)) throw new Error(`bench/${name} has no run(); see bench/bench-row.ts.`);
  return module.run();
}

function formatRow(row: BenchRow): string {
  const ours = `${formatNumber(row.value)} ${row.unit}`;
  const peer = `${formatNumber(row.peerValue)} ${row.unit}`;
  return [
    `\n${row.name}`,
    `  ${'caisson'.padEnd(56)} ${ours.padStart(22)}`,
    `  ${row.peer.padEnd(56)} ${peer.padStart(22)}`,
    `  ${`ratio ${formatNumber(row.ratio)}x, target ${row.target}`.padEnd(56)} ${(row.met ? 'met' : 'MISSED').padStart(22)}`,
  ].join('\n');
}

function formatNumber(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: value >= 1000 ? 4 : 3 });
}

function describeRun(rows: readonly BenchRow[]) {
  return { at: new Date().toISOString(), node: process.version, arch: process.arch, rows };
}
