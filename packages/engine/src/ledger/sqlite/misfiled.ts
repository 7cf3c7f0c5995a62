import { DEFAULT_POOL } from '../contract.ts';

// The rule of `queuedIn`, as the migration has it too.
const QUEUED_ELSEWHERE = `queued_in IS NOT
  CASE WHEN status = 'queued' AND row ->> '$.attempt' = 0 THEN coalesce(row ->> '$.pool', '${DEFAULT_POOL}') END`;
// Damaged JSON is named when the row itself is read.
/** For each table, when a row is filed under values that it does not have: a search would miss it. */
export const MISFILED = {
  runs: differences({
    run: '$.runId',
    status: '$.status',
    priority: '$.priority',
    accepted_offset: '$.acceptedOffset',
    session: '$.session',
    idempotency_key: '$.idempotencyKey',
    unsealed: '$.unsealed',
    waiting_branch: '$.waitingBranch',
    agent: '$.agent',
    runtime: '$.runtime',
    continues: '$.continues',
    accepted_at: '$.acceptedAt',
    ended_at: '$.endedAt',
  }).concat(QUEUED_ELSEWHERE),
  attempts: differences({ run: '$.runId', attempt: '$.attempt' }),
  questions: differences({
    id: '$.questionId',
    run: '$.runId',
    status: '$.status',
    asked_offset: '$.askedOffset',
  }),
  approvals: differences({
    id: '$.approvalId',
    run: '$.runId',
    status: '$.status',
    requested_offset: '$.requestedOffset',
  }),
  threads: differences({
    id: '$.threadId',
    workflow: '$.workflow',
    status: '$.status',
    accepted_offset: '$.acceptedOffset',
  }),
  spend: differences({ run: '$.runId', session: '$.session', day: '$.day' }),
};

function differences(columns: Record<string, string>): string[] {
  return Object.entries(columns).map(([column, path]) => `${column} IS NOT row ->> '${path}'`);
}
