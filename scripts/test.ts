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
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

const checks = runChecks();
const tests = runTests(process.argv.slice(2));
const passed = checks.passed + tests.passed;
const failed = checks.failed.length + tests.failed;
if (checks.failed.length > 0) process.stdout.write(`\nfailed checks: ${checks.failed.join(', ')}\n`);
process.stdout.write(
  `\n${passed} passed, ${failed} failed${tests.skipped > 0 ? `, ${tests.skipped} skipped` : ''}\n`,
);
process.exitCode = failed === 0 ? 0 : 1;

function runTests(filters: readonly string[]): Tally {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-test-'));
  const report = join(folder, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const { status } = spawnSync('vitest', ['run', ...reporters, ...filters], { stdio: 'inherit' });
    return count(readReport(report), status === 0);
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
