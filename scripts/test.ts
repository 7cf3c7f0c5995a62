// `npm test`: the checks, then every test, then one line that says how it went.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runChecks } from './check.ts';

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

/** The part of vitest's JSON report that is counted. */
interface VitestReport {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: {
    name: string;
    status: string;
    assertionResults: { status: string; fullName: string }[];
  }[];
}

/** Files with a failed test that are run again. */
const MOST_REPEATED = 3;

const checks = runChecks();
const tests = runTests(process.argv.slice(2));
const passed = checks.passed + tests.passed;
const failed = checks.failed.length + tests.failed;
if (checks.failed.length > 0) process.stdout.write(`\nfailed checks: ${checks.failed.join(', ')}\n`);
process.stdout.write(
  `\n${passed} passed, ${failed} failed${tests.skipped > 0 ? `, ${tests.skipped} skipped` : ''}\n`,
);
process.exitCode = failed === 0 ? 0 : 1;

/**
 * Four files at a time keep two cores busy, so a bound in time may be missed beside others. A few files that failed are
 * run again, one at a time, and what passes only then is named: such a test is a bug of its own. More are a failure.
 */
function runTests(filters: readonly string[]): Tally {
  const first = runVitest(filters);
  const failed = first.report?.testResults.filter((file) => file.status === 'failed') ?? [];
  if (failed.length === 0 || failed.length > MOST_REPEATED) return first.tally;
  process.stdout.write(`\nagain, one at a time:\n${failed.map((file) => `  ${file.name}\n`).join('')}`);
  const again = runVitest(
    failed.map((file) => file.name),
    ['--maxWorkers=1'],
  );
  const unsteady = failed.flatMap((file) => failedTests(file)).filter((name) => !isFailed(again, name));
  if (unsteady.length > 0)
    process.stdout.write(`\npassed only when repeated:\n${unsteady.map((name) => `  ${name}\n`).join('')}`);
  const stillFailed = again.tally.failed;
  return {
    ...first.tally,
    passed: first.tally.passed + Math.max(0, first.tally.failed - stillFailed),
    failed: stillFailed,
  };
}

interface VitestRun {
  readonly report: VitestReport | null;
  readonly tally: Tally;
}

function failedTests({ assertionResults }: VitestReport['testResults'][number]): string[] {
  return assertionResults.filter((test) => test.status === 'failed').map((test) => test.fullName);
}

function isFailed({ report }: VitestRun, name: string): boolean {
  return report?.testResults.some((file) => failedTests(file).includes(name)) ?? true;
}

function runVitest(filters: readonly string[], options: readonly string[] = []): VitestRun {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-test-'));
  const output = join(folder, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${output}`];
    const { status } = spawnSync('vitest', ['run', ...reporters, ...options, ...filters], {
      stdio: 'inherit',
    });
    const report = readReport(output);
    return { report, tally: count(report, status === 0) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readReport(path: string): VitestReport | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as VitestReport;
  } catch {
    return null; // vitest died before it wrote one; counted as a failure below
  }
}

/** A file that did not load, or an error outside any test, is a failure too. */
function count(report: VitestReport | null, isOk: boolean): Tally {
  if (report === null) return { passed: 0, failed: 1, skipped: 0 };
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  const failed = report.numFailedTests + brokenFiles.length;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && !isOk ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}
