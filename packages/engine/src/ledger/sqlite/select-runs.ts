// A page of runs as one query. Each order has an index, and so has each condition together with the order of acceptance,
// so that SQLite reads a page and no more. A condition with `+` is only checked: its index would need a sort of all that it
// finds; so it is beside an index of few runs.

import { definedOnly } from '@caisson/protocol';
import { isOfFew, type RunFilter } from '../run-filter.ts';

export interface Query {
  readonly sql: string;
  readonly values: readonly unknown[];
}

type Condition = readonly [clause: string, ...values: unknown[]];

// A damaged row passes: it is named when it is read.
const TEXT = `CASE WHEN json_valid(row) THEN row ->> '$.description' LIKE ? ESCAPE '\\' ELSE 1 END`;

export function selectRuns(filter: RunFilter): Query {
  const keys = orderKeys(filter);
  const statuses = [...new Set(filter.status === undefined ? [] : [filter.status].flat())];
  const common = commonConditions(filter, keys);
  // A page of each status, and of those the first: the page of all would be sorted whole.
  if (statuses.length > 1 && !isOfFew(filter) && filter.limit !== undefined && keys.length === 1) {
    const pages = statuses.map((status) => selectPage([['status = ?', status], ...common], filter, keys));
    const all = pages.map(({ sql }) => `SELECT * FROM (${sql})`).join(' UNION ALL ');
    return {
      sql: `SELECT row FROM (${all}) ${orderBy(filter, keys)} LIMIT ?`,
      values: [...pages.flatMap(({ values }) => values), filter.limit],
    };
  }
  const free = keys.length > 1 || isOfFew(filter) ? '+' : '';
  const ofStatus: Condition[] =
    statuses.length === 0 ? [] : [[`${free}status IN (${statuses.map(() => '?').join(', ')})`, ...statuses]];
  return selectPage([...ofStatus, ...common], filter, keys);
}

/** The run at this place of the order, from the cursor on. */
export function selectRunAt({ order, since, until, after, newestFirst }: RunFilter, index: number): Query {
  const filter = definedOnly({ order, since, until, after, newestFirst });
  const keys = orderKeys(filter);
  const conditions = commonConditions(filter, keys);
  return {
    sql: `SELECT run FROM runs WHERE ${whereOf(conditions)} ${orderBy(filter, keys)} LIMIT 1 OFFSET ?`,
    values: [...conditions.flatMap(([, ...values]) => values), index],
  };
}

function selectPage(conditions: readonly Condition[], filter: RunFilter, keys: readonly string[]): Query {
  return {
    sql: `SELECT row, ${keys.join(', ')} FROM runs WHERE ${whereOf(conditions)} ${orderBy(filter, keys)} LIMIT ?`,
    values: [...conditions.flatMap(([, ...values]) => values), filter.limit ?? -1],
  };
}

function whereOf(conditions: readonly Condition[]): string {
  return conditions.map(([clause]) => clause).join(' AND ') || 'true';
}

function orderKeys({ order, since, until }: RunFilter): readonly string[] {
  if (order === 'ended') return ['ended_at', 'accepted_offset'];
  return since === undefined && until === undefined
    ? ['accepted_offset']
    : ['accepted_at', 'accepted_offset'];
}

function orderBy({ newestFirst }: RunFilter, keys: readonly string[]): string {
  const direction = newestFirst === true ? 'DESC' : 'ASC';
  return `ORDER BY ${keys.map((key) => `${key} ${direction}`).join(', ')}`;
}

function commonConditions(filter: RunFilter, keys: readonly string[]): Condition[] {
  const free = keys.length > 1 ? '+' : '';
  const { unsealed, ids, since, until, text, after, upTo, order } = filter;
  const equal = (column: string, value: string | undefined, only = free): Condition[] =>
    value === undefined ? [] : [[`${only}${column} = ?`, value]];
  const wide = isOfFew(filter) ? '+' : free;
  const columns = keys.join(', ');
  const beyond = filter.newestFirst === true ? '<' : '>';
  return [
    ...equal('session', filter.session, wide),
    ...equal('agent', filter.agent, wide),
    ...equal('runtime', filter.runtime, wide),
    ...equal('continues', filter.continues),
    ...equal('idempotency_key', filter.idempotencyKey),
    ...equal('waiting_branch', filter.waitingBranch),
    ...given(unsealed, (): Condition => ['unsealed = 1']),
    ...given(ids, (all): Condition => ['run IN (SELECT value FROM json_each(?))', JSON.stringify(all)]),
    ...given(since, (at): Condition => ['accepted_at >= ?', at]),
    ...given(until, (at): Condition => ['accepted_at < ?', at]),
    ...given(text, (part): Condition => [TEXT, `%${part.replaceAll(/[\\%_]/g, '\\$&')}%`]),
    ...(order === 'ended' ? [['ended_at IS NOT NULL'] as const] : []),
    ...given(after, (run): Condition => [
      `(${columns}) ${beyond} (SELECT ${columns} FROM runs WHERE run = ?)`,
      run,
    ]),
    ...given(upTo, (run): Condition => [
      `(${columns}) ${beyond === '<' ? '>=' : '<='} (SELECT ${columns} FROM runs WHERE run = ?)`,
      run,
    ]),
  ];
}

function given<T>(value: T | undefined, condition: (value: T) => Condition): Condition[] {
  return value === undefined ? [] : [condition(value)];
}
