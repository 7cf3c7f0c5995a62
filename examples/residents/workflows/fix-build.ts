/** Has one agent fix the build and another one review the fix. Nothing is applied: a person decides that. */
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
        task: `The tests in these files fail: ${payload.failed.join(', ')}. Find out why and correct the code, not the tests.`,
      });
      return { runId, status };
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
      const verdict = isApproved ? 'approved' : isReviewed ? 'not approved' : 'not reviewed';
      log(`${fix.runId} is ${fix.status}, ${verdict}`);
      return `${verdict}; its work: caisson diff ${fix.runId}`;
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
