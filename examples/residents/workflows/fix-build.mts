/**
 * Has one agent fix the build and another one review the fix. Nothing is applied: a person decides that. The signal `red`
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
          ? `The tests in these files fail: ${failed.join(', ')}.`
          : 'Run the tests of this project. If they pass, change nothing.';
      const { runId, status, patchBytes } = await dispatch({
        task: `${what} Find out why they fail and correct the code, not the tests.`,
      });
      return { runId, status, ...(patchBytes === undefined ? {} : { isChanged: patchBytes > 0 }) };
    },
    async review({ messages, dispatch }): Promise<Review> {
      const { runId } = lastOf<Fix>(messages, 'fix');
      const { reply } = await dispatch({
        task: 'Review the changes in this folder: are they correct, and do they change nothing else? Change nothing. End with APPROVED, or with what is wrong.',
        keepWork: runId,
      });
      return { isApproved: /\bAPPROVED\W*$/.test(reply), words: reply };
    },
    report({ messages, log }): string {
      const fix = lastOf<Fix>(messages, 'fix');
      const isReviewed = messages.some(({ role }) => role === 'review');
      const isApproved = isReviewed && lastOf<Review>(messages, 'review').isApproved;
      const reviewed = isReviewed ? (isApproved ? 'approved' : 'not approved') : 'not reviewed';
      const verdict = fix.isChanged === false ? 'changed nothing' : reviewed;
      log(`${fix.runId} is ${fix.status}, ${verdict}`);
      return fix.isChanged === true
        ? `${fix.status}, ${verdict}; its work: caisson diff ${fix.runId}`
        : `${fix.status}, ${verdict}: caisson show ${fix.runId}`;
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
