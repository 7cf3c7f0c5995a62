/** What `caisson init --with residents` writes: the files of examples/residents, which a test keeps the same. */

/** For caisson.yaml. */
export const RESIDENT_KEYS = `# Code of yours that stays, each in a sandbox that reads the project and nothing else.
# It takes effect after caisson trust, while a daemon serves the project: caisson up -d
senses:
  # Reads test-results.json, and emits "red" when the tests begin to fail.
  tests: { file: senses/tests.ts, interval: 2s }
workflows:
  # An agent fixes the build, and a second one reviews what it did.
  fix-build: { file: workflows/fix-build.ts, on: [red], timeout: 2h }
`;

/** By path, relative to the project. */
export const RESIDENT_FILES: Readonly<Record<string, string>> = {
  'senses/tests.ts': `/**
 * Watches the results of the tests and emits \`red\` when they begin to fail, \`green\` when they pass again. It reads what
 * \`vitest run --reporter=json --outputFile=test-results.json\` writes; jest's \`--json --outputFile\` is the same.
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
    log(\`the tests are \${now}\`);
    if (now === 'red') emit('red', { failed });
    else emit('green');
  },
});
`,
  'workflows/fix-build.ts': `/** Has one agent fix the build and another one review the fix. Nothing is applied: a person decides that. */
import { defineWorkflow, type RoleMessage } from 'caisson';

interface Red {
  readonly failed: readonly string[];
}

interface Fix {
  readonly runId: string;
  readonly status: string;
}

interface Review {
  readonly isApproved: boolean;
  readonly words: string;
}

export default defineWorkflow<Red>({
  roles: {
    async fix({ payload, dispatch }): Promise<Fix> {
      const { runId, status } = await dispatch({
        task: \`The tests in these files fail: \${payload.failed.join(', ')}. Find out why and correct the code, not the tests.\`,
      });
      return { runId, status };
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
      const verdict = isApproved ? 'approved' : isReviewed ? 'not approved' : 'not reviewed';
      log(\`\${fix.runId} is \${fix.status}, \${verdict}\`);
      return \`\${verdict}; its work: caisson diff \${fix.runId}\`;
    },
  },
  route({ messages }) {
    const last = messages.at(-1);
    if (last === undefined) return 'fix';
    if (last.role === 'fix') return (last.content as Fix).status === 'done' ? 'review' : 'report';
    return last.role === 'review' ? 'report' : null;
  },
});

/** What a role returned last. */
function lastOf<T>(messages: readonly RoleMessage[], name: string): T {
  return messages.findLast(({ role }) => role === name)?.content as T;
}
`,
};
