/** The filters of the runs page, as they stand in its address. */
import type { RunStatus } from '@caisson/protocol';
import type { Query } from '../api/client.ts';
import { RUN_STATUS_NAMES, STATUS_GROUPS } from './run-status-names.ts';

export interface RunsFilter {
  readonly status: readonly RunStatus[];
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
    status: [...new Set(wordsOf(params).flatMap((word) => findStatuses(word) ?? []))],
    agent: read('agent'),
    runtime: read('runtime'),
    session: read('session'),
    text: read('text'),
    time: Object.hasOwn(TIMES, read('time')) ? read('time') : '',
    order: read('order') === 'oldest' ? 'oldest' : 'newest',
  };
}

/** What of an address filters nothing, as a sentence for each; a page that is opened with it shows more than was asked. */
export function describeUnknown(params: URLSearchParams): string[] {
  const statuses = wordsOf(params).filter((word) => findStatuses(word) === null);
  const others = Object.entries({ time: Object.keys(TIMES), order: ['newest', 'oldest'] }).flatMap(
    ([name, known]) => {
      const word = params.get(name) ?? '';
      return word === '' || known.includes(word) ? [] : [sentence(name, word, known)];
    },
  );
  const known = [...Object.keys(STATUS_GROUPS), ...RUN_STATUS_NAMES];
  return [...statuses.map((word) => sentence('status', word, known)), ...others];
}

function sentence(name: string, word: string, known: readonly string[]): string {
  return `The address asks for the ${name} ${word}, which there is not: it filters nothing. There is ${known.join(', ')}.`;
}

function wordsOf(params: URLSearchParams): string[] {
  return (params.get('status') ?? '')
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter(Boolean);
}

function findStatuses(word: string): readonly RunStatus[] | null {
  const group = Object.entries(STATUS_GROUPS).find(([name]) => name === word);
  if (group !== undefined) return group[1];
  const status = RUN_STATUS_NAMES.find((name) => name === word);
  return status === undefined ? null : [status];
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
