/** `npm run test:faults`: hurts runs in every way there is, checks what must hold afterwards, prints a table. */
import { OptionsError, parseOptions, USAGE, type Options } from './options.ts';
import { publish } from './publish.ts';
import { runAll, type Report } from './run-all.ts';
import { createTable, formatTable } from './table.ts';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  try {
    const options = parseOptions(args);
    const reports = await runAll(options, tell);
    process.stdout.write(`\n${formatTable(createTable(options.kinds, reports))}\n`);
    if (options.publishes) process.stdout.write(`written to ${publish(options, reports)}\n`);
    return conclude(options, reports);
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    return 2;
  }
}

function tell(report: Report): void {
  const { kind, index, name, violations, hasStruck, outcome, tookMs } = report;
  const mark = violations.length > 0 ? 'FAIL' : hasStruck ? 'ok  ' : 'miss';
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
