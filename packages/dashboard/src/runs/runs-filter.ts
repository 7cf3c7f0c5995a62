/** The filters of the runs page, as they stand in its address. */
import type { Query } from '../api/client.ts';

export interface RunsFilter {
  readonly status: readonly string[];
  readonly agent: string;
  readonly runtime: string;
  readonly session: string;
  readonly text: string;
  readonly time: string;
  /** Which end of the list comes first: a ledger of many years has two. */
  readonly order: 'newest' | 'oldest';
}

export const TIMES: Readonly<Record<string, number>> = {
  '1h': 3_600_000,
  '24h': 86_400_000,
  '7d': 7 * 86_400_000,
  '30d': 30 * 86_400_000,
};

export function parseFilter(params: URLSearchParams): RunsFilter {
  const read = (name: string) => params.get(name) ?? '';
  return {
    status: read('status').split(',').filter(Boolean),
    agent: read('agent'),
    runtime: read('runtime'),
    session: read('session'),
    text: read('text'),
    time: Object.hasOwn(TIMES, read('time')) ? read('time') : '',
    order: read('order') === 'oldest' ? 'oldest' : 'newest',
  };
}

export function isFiltered(filter: RunsFilter): boolean {
  const { status, order: _order, ...rest } = filter;
  return status.length > 0 || Object.values(rest).some((value) => value !== '');
}

/** How many filters are set beside the search. */
export function countFilters({ status, agent, runtime, session, time }: RunsFilter): number {
  return [status.join(','), agent, runtime, session, time].filter((value) => value !== '').length;
}

export function toQuery({ status, time, order, ...rest }: RunsFilter, nowMs: number): Query {
  const ms = TIMES[time];
  return {
    ...rest,
    status: status.join(','),
    since: ms === undefined ? undefined : new Date(nowMs - ms).toISOString(),
    newestFirst: order === 'newest',
  };
}
