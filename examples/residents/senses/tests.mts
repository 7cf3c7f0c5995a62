/**
 * Watches the results of the tests and emits `red` when they begin to fail, `green` when they pass again. It reads one of two
 * files that you let your tests write; leave both out of git:
 *
 *   test-results.json    with the names of the files that failed:
 *                        vitest run --reporter=json --outputFile=test-results.json
 *                        jest --json --outputFile=test-results.json
 *   test-exit-code.txt   of any other command: npm test; echo $? > test-exit-code.txt
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineSense } from 'caisson';

interface Results {
  readonly testResults: readonly { readonly name: string; readonly status: string }[];
}

export default defineSense<{ red: { failed: string[] }; green: undefined }>({
  compute({ state, emit, log, projectRoot }) {
    const outcome =
      readReport(join(projectRoot, 'test-results.json')) ??
      readExitCode(join(projectRoot, 'test-exit-code.txt'));
    if (outcome === null) return;
    const now = outcome.isRed ? 'red' : 'green';
    if (state.get('tests') === now) return;
    state.set('tests', now);
    log(`the tests are ${now}`);
    if (now === 'red') emit('red', { failed: outcome.failed });
    else emit('green');
  },
});

interface Outcome {
  readonly isRed: boolean;
  /** Empty where only the exit code is known. */
  readonly failed: string[];
}

function readReport(file: string): Outcome | null {
  if (!existsSync(file)) return null;
  const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as Results;
  const failed = testResults.filter(({ status }) => status === 'failed').map(({ name }) => name);
  return { isRed: failed.length > 0, failed };
}

function readExitCode(file: string): Outcome | null {
  const code = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  return code === '' ? null : { isRed: code !== '0', failed: [] }; // it is empty while it is written
}
