import type { ThreadFilter } from '../run-filter.ts';
import type { Query } from './select-runs.ts';

type Condition = readonly [clause: string, ...values: unknown[]];

/** A page of threads as one query; a page of each status where there are several, so that an index has the order. */
export function selectThreads(filter: ThreadFilter): Query {
  const { status, limit = -1, newestFirst } = filter;
  const order = `ORDER BY accepted_offset ${newestFirst === true ? 'DESC' : 'ASC'} LIMIT ?`;
  const statuses = status === undefined ? [undefined] : [...new Set([status].flat())];
  const pages = statuses.map((one) => selectPage(filter, one));
  const all = pages.map(({ sql }) => `SELECT * FROM (${sql} ${order})`).join(' UNION ALL ');
  if (all === '') return { sql: 'SELECT row FROM threads WHERE false', values: [] };
  return {
    sql: `SELECT row FROM (${all}) ${order}`,
    values: [...pages.flatMap(({ values }) => [...values, limit]), limit],
  };
}

function selectPage({ workflow, after, newestFirst }: ThreadFilter, status: string | undefined): Query {
  const beyond = newestFirst === true ? '<' : '>';
  const conditions: Condition[] = [
    ...(workflow === undefined ? [] : [['workflow = ?', workflow] as const]),
    ...(status === undefined ? [] : [['status = ?', status] as const]),
    ...(after === undefined
      ? []
      : [[`accepted_offset ${beyond} (SELECT accepted_offset FROM threads WHERE id = ?)`, after] as const]),
  ];
  const where = conditions.map(([clause]) => clause).join(' AND ') || 'true';
  return {
    sql: `SELECT row, accepted_offset FROM threads WHERE ${where}`,
    values: conditions.flatMap(([, ...values]) => values),
  };
}
