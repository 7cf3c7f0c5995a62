/**
 * Watches the results of the tests and emits `red` when they begin to fail, `green` when they pass again. It reads what
 * `vitest run --reporter=json --outputFile=test-results.json` writes; jest's `--json --outputFile` is the same.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineSense } from 'caisson';

interface Results {
  readonly testResults: readonly { readonly name: string; readonly status: string }[];
}

export default defineSense<{ red: { failed: string[] }; green: undefined }>({
  compute({ state, emit, log, projectRoot }) {
    const file = join(projectRoot, 'test-results.json');
    if (!existsSync(file)) return;
    const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as Results;
    const failed = testResults.filter(({ status }) => status === 'failed').map(({ name }) => name);
    const now = failed.length === 0 ? 'green' : 'red';
    if (state.get('tests') === now) return;
    state.set('tests', now);
    log(`the tests are ${now}`);
    if (now === 'red') emit('red', { failed });
    else emit('green');
  },
});
