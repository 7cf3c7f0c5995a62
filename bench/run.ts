// Re-runs every published number: node bench/run.ts [--json[=FILE]] [--publish] [names…]
// Without names every bench that exists runs. `--json` prints the rows as JSON instead of a table, `--json=FILE` writes
// them beside it, `--publish` writes them to docs/numbers.md. Exit code 1 when a target was missed or a bench broke, 2 when a name is unknown.
import { existsSync, writeFileSync } from 'node:fs';

import { isBenchModule, type BenchRow } from './bench-row.ts';
import { formatNumber } from './format-number.ts';
import { BENCH_MODULES } from './index.ts';
import { publish, startMeasuring, type MeasuredBench } from './publish.ts';

const PUBLISH = '--publish';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const asked = args.filter((arg) => !arg.startsWith('-'));
  const flags = args.filter((arg) => arg.startsWith('-'));
  const json = flags.find((flag) => /^--json(=.+)?$/.test(flag));
  const wrong = [
    ...asked.filter((name) => !Object.hasOwn(BENCH_MODULES, name)),
    ...flags.filter((flag) => flag !== json && flag !== PUBLISH),
  ];
  if (wrong.length > 0) {
    const names = Object.keys(BENCH_MODULES).join(', ');
    process.stderr.write(
      `Not known here: ${wrong.join(', ')}. Benches are ${names}; the flags are --json[=FILE] and --publish.\n`,
    );
    return 2;
  }
  const benches: MeasuredBench[] = [];
  const broken: string[] = [];
  for (const name of asked.length > 0 ? asked : existingBenches()) {
    process.stderr.write(`measuring ${name} …\n`);
    const started = startMeasuring(name);
    const rows = await measure(name).catch((error: unknown) => reportBroken(name, error));
    if (rows === null) {
      broken.push(name);
      continue;
    }
    const bench = { ...started, rows };
    if (json !== '--json') process.stdout.write(`${bench.rows.map(formatRow).join('\n')}\n`);
    benches.push(bench);
    if (flags.includes(PUBLISH)) publish(benches, Object.keys(BENCH_MODULES));
  }
  const rows = benches.flatMap((bench) => bench.rows);
  if (json === '--json') process.stdout.write(formatJson(rows));
  else if (json !== undefined) writeFileSync(json.slice('--json='.length), formatJson(rows));
  const measured = rows.filter((row) => row.unmeasured === undefined);
  const missed = measured.filter((row) => !row.met);
  if (json !== '--json') process.stdout.write(formatVerdict(rows, measured.length, missed, broken));
  return missed.length + broken.length === 0 ? 0 : 1;
}

/** A bench that breaks ends no other: its section of docs/numbers.md stays as it is. */
function reportBroken(name: string, error: unknown): null {
  process.stderr.write(`bench ${name} broke: ${error instanceof Error ? error.stack : String(error)}\n`);
  return null;
}

/** A bench that is not there is an error only for those who ask for it by name. */
function existingBenches(): string[] {
  return Object.keys(BENCH_MODULES).filter((name) =>
    existsSync(new URL(BENCH_MODULES[name] as string, import.meta.url)),
  );
}

async function measure(name: string): Promise<BenchRow[]> {
  const module: unknown = await import(BENCH_MODULES[name] as string);
  if (!isBenchModule(module)) throw new Error(`bench/${name} has no run(); see bench/bench-row.ts.`);
  return module.run();
}

function formatRow(row: BenchRow): string {
  if (row.unmeasured !== undefined)
    return `\n${row.name}\n  NOT MEASURED (target ${row.target}): ${row.unmeasured}`;
  const ours = `${formatNumber(row.value)} ${row.unit}`;
  const peer = `${formatNumber(row.peerValue)} ${row.unit}`;
  return [
    `\n${row.name}`,
    `  ${'caisson'.padEnd(66)} ${ours.padStart(22)}`,
    `  ${row.peer.padEnd(66)} ${peer.padStart(22)}`,
    `  ${`ratio ${formatNumber(row.ratio)}x, target ${row.target}`.padEnd(66)} ${(row.met ? 'met' : 'MISSED').padStart(22)}`,
    ...(row.details ?? []).map((detail) => `    ${detail}`),
  ].join('\n');
}

function formatVerdict(
  rows: readonly BenchRow[],
  measured: number,
  missed: readonly BenchRow[],
  broken: readonly string[],
): string {
  const names = [
    ...missed.map((row) => `  MISSED ${row.name} against ${row.peer}\n`),
    ...broken.map((name) => `  BROKEN ${name}\n`),
  ].join('');
  const left = rows.length - measured;
  const others = left === 0 ? '' : `, ${left} not measured`;
  return `\n${measured - missed.length} of ${measured} targets met${others}\n${names}`;
}

function formatJson(rows: readonly BenchRow[]): string {
  const run = { at: new Date().toISOString(), node: process.version, arch: process.arch, rows };
  return `${JSON.stringify(run, null, 2)}\n`;
}
