// A page of what has no query of its own: each is read in the order of one column.

import type { ApprovalFilter, QuestionFilter, SpendFilter } from '../contract.ts';
import { INDEXED_END } from '../run-filter.ts';
import type { Query } from './select-runs.ts';

export function selectQuestions({ runId, status, after, limit }: QuestionFilter): Query {
  return selectPage('questions', 'asked_offset', limit, [
    ['run = ?', runId],
    ['status = ?', status],
    ['asked_offset > (SELECT asked_offset FROM questions WHERE id = ?)', after],
  ]);
}

export function selectApprovals({ runId, status, idEnd, after, limit }: ApprovalFilter): Query {
  return selectPage('approvals', 'requested_offset', limit, [
    ['run = ?', runId],
    ['status = ?', status],
    ['substr(id, -4) = ?', idEnd?.slice(-INDEXED_END)],
    ['requested_offset > (SELECT requested_offset FROM approvals WHERE id = ?)', after],
  ]);
}

export function selectSpend({ session, day, newestFirst = false, after, limit }: SpendFilter): Query {
  return selectPage('spend', newestFirst ? 'run DESC' : 'run', limit, [
    ['session = ?', session],
    ['day = ?', day],
    [newestFirst ? 'run < ?' : 'run > ?', after],
  ]);
}

function selectPage(
  table: string,
  order: string,
  limit: number | undefined,
  clauses: readonly (readonly [string, string | undefined])[],
): Query {
  const given = clauses.filter(([, value]) => value !== undefined);
  const where = given.map(([clause]) => clause).join(' AND ') || 'true';
  return {
    sql: `SELECT row FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT ?`,
    values: [...given.map(([, value]) => value), limit ?? -1],
  };
}
