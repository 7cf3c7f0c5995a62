/** `npm run test:faults`: injects faults of every kind into runs, checks the invariants afterwards, prints a table. */
import { OptionsError, parseOptions, USAGE, type Options } from './options.ts';
import { publish } from './publish.ts';
import { openResults } from './results.ts';
import { runAll, type Report } from './run-all.ts';
import { createTable, formatTable } from './table.ts';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  try {
    const options = parseOptions(args);
    const results = options.results === null ? null : openResults(options.results);
    const known = results?.list() ?? [];
    const isKnown = (repeat: string): boolean => known.some((report) => report.repeat === repeat);
    const fresh = await runAll({ ...options, isKnown, signal: onTermination() }, (report) => {
      results?.add(report);
      print(report);
    });
    const reports = [...known, ...fresh];
    process.stdout.write(`\n${formatTable(createTable(options.kinds, reports))}\n`);
    if (options.publishes) process.stdout.write(`written to ${publish(reports)}\n`);
    return conclude(options, reports);
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    return 2;
  }
}

function onTermination(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  return stop.signal;
}

function print(report: Report): void {
  const { kind, index, name, violations, missed, outcome, tookMs } = report;
  const mark = violations.length > 0 ? 'FAIL' : missed === 0 ? 'ok  ' : 'miss';
  process.stdout.write(`${mark} ${kind} ${index}: ${name}: ${outcome}, ${(tookMs / 1000).toFixed(1)} s\n`);
  for (const violation of violations)
    process.stdout.write(`     ${violation.replaceAll('\n', '\n       ')}\n`);
  for (const line of report.context ?? []) process.stdout.write(`       ${line}\n`);
  if (violations.length > 0) process.stdout.write(`     again: ${report.repeat}\n`);
}

function conclude({ seed, count }: Options, reports: readonly Report[]): number {
  const broken = reports.filter(({ violations }) => violations.length > 0).length;
  process.stdout.write(
    `\nseed ${seed}, count ${count}: ${reports.length} cases, ${broken} with a violation\n`,
  );
  return broken === 0 ? 0 : 1;
}
