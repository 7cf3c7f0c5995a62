/** What `caisson init --with residents` writes: the files of examples/residents, which a test keeps the same. */

/** For caisson.yaml. */
export const RESIDENT_KEYS = `# Code of yours that stays, each in a sandbox that reads the project and nothing else.
# It takes effect after caisson trust, while a daemon serves the project: caisson up -d
senses:
  # Reads how your tests ended from test-results.json or test-exit-code.txt, and emits "red" when they begin to fail.
  tests: { file: senses/tests.mts, interval: 2s }
workflows:
  # An agent fixes the build, and a second one reviews what it did.
  fix-build: { file: workflows/fix-build.mts, on: [red], timeout: 2h }
`;

/** By path, relative to the project. */
export const RESIDENT_FILES: Readonly<Record<string, string>> = {
  'senses/tests.mts': `/**
 * Watches the results of the tests and emits \`red\` when they begin to fail, \`green\` when they pass again. It reads one of two
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
    log(\`the tests are \${now}\`);
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
`,
  'workflows/fix-build.mts': `/**
 * Has one agent fix the build and another one review the fix. Nothing is applied: a person decides that. The signal \`red\`
 * starts it; by hand: caisson workflows trigger fix-build
 */
import { defineWorkflow, type RoleMessage } from 'caisson';

interface Red {
  readonly failed: readonly string[];
}

interface Fix {
  readonly runId: string;
  readonly status: string;
  /** Absent: nobody knows, because its work is in no patch. */
  readonly isChanged?: boolean;
}

interface Review {
  readonly isApproved: boolean;
  readonly words: string;
}

/** Without a payload it was started by hand, or by a schedule: nothing says what failed. */
export default defineWorkflow<Red | null>({
  roles: {
    async fix({ payload, dispatch }): Promise<Fix> {
      const failed = payload?.failed ?? [];
      const what =
        failed.length > 0
          ? \`The tests in these files fail: \${failed.join(', ')}.\`
          : 'Run the tests of this project. If they pass, change nothing.';
      const { runId, status, patchBytes } = await dispatch({
        task: \`\${what} Find out why they fail and correct the code, not the tests.\`,
      });
      return { runId, status, ...(patchBytes === undefined ? {} : { isChanged: patchBytes > 0 }) };
    },
    async review({ messages, dispatch }): Promise<Review> {
      const { runId } = lastOf<Fix>(messages, 'fix');
      const { reply } = await dispatch({
        task: 'Review the changes in this folder: are they correct, and do they change nothing else? Change nothing. End with APPROVED, or with what is wrong.',
        keepWork: runId,
      });
      return { isApproved: /\\bAPPROVED\\W*$/.test(reply), words: reply };
    },
    report({ messages, log }): string {
      const fix = lastOf<Fix>(messages, 'fix');
      const isReviewed = messages.some(({ role }) => role === 'review');
      const isApproved = isReviewed && lastOf<Review>(messages, 'review').isApproved;
      const reviewed = isReviewed ? (isApproved ? 'approved' : 'not approved') : 'not reviewed';
      const verdict = fix.isChanged === false ? 'changed nothing' : reviewed;
      log(\`\${fix.runId} is \${fix.status}, \${verdict}\`);
      return fix.isChanged === true
        ? \`\${fix.status}, \${verdict}; its work: caisson diff \${fix.runId}\`
        : \`\${fix.status}, \${verdict}: caisson show \${fix.runId}\`;
    },
  },
  route({ messages }) {
    const last = messages.at(-1);
    if (last === undefined) return 'fix';
    if (last.role === 'fix') return isWorthReview(last.content as Fix) ? 'review' : 'report';
    return last.role === 'review' ? 'report' : null;
  },
});

function isWorthReview({ status, isChanged }: Fix): boolean {
  return status === 'done' && isChanged === true;
}

/** What a role returned last. */
function lastOf<T>(messages: readonly RoleMessage[], name: string): T {
  return messages.findLast(({ role }) => role === name)?.content as T;
}
`,
};
