import { expect, test } from 'vitest';
import type { ListedRun } from '../api/answers.ts';
import type { Client, Query } from '../api/client.ts';
import { appendPage, insertRuns, mergeHead, toRows, updateRuns } from './run-list.ts';
import { MAX_KEPT, PAGE, RunPager } from './run-pager.ts';
import { describeUnknown, isFiltered, parseFilter, toQuery } from './runs-filter.ts';

const run = (offset: number, more: Partial<ListedRun> = {}): ListedRun => ({
  ...{ runId: `run_${offset}`, status: 'done', priority: 5, acceptedOffset: offset, acceptedAt: '' },
  ...{ attempt: 1, lastSeq: 1, description: '' },
  ...more,
});
const ids = (runs: readonly ListedRun[]) => runs.map(({ acceptedOffset }) => acceptedOffset);

/** A host with so many runs, newest first, that answers as the real one does. */
function createHost(count: number) {
  const all = Array.from({ length: count }, (_, index) => run(count - index));
  const asked: Query[] = [];
  const get = (_path: string, query: Query = {}) => {
    asked.push(query);
    const from =
      query['after'] === undefined ? 0 : all.findIndex(({ runId }) => runId === query['after']) + 1;
    const wanted =
      query['ids'] === undefined
        ? all
        : all.filter(({ runId }) => String(query['ids']).split(',').includes(runId));
    return Promise.resolve(wanted.slice(from, from + Number(query['limit'])));
  };
  return { client: { get } as unknown as Client, asked, all };
}

test('filters are read from the address, and asked for as the host names them', () => {
  const filter = parseFilter(new URLSearchParams('status=error,done&text=fix&time=1h&agent=a'));
  expect(toQuery(filter, Date.parse('2026-01-01T01:00:00Z'))).toEqual({
    ...{ status: 'error,done', text: 'fix', agent: 'a', runtime: '', session: '' },
    ...{ since: '2026-01-01T00:00:00.000Z', newestFirst: true },
  });
  expect(isFiltered(filter)).toBe(true);
  expect(isFiltered(parseFilter(new URLSearchParams('time=never&group=session')))).toBe(false);
});

test('an address takes the words of the page and of the command line; a word that is unknown is said, and filters nothing', () => {
  const read = (address: string) => {
    const params = new URLSearchParams(address);
    return [parseFilter(params).status.join(','), describeUnknown(params)];
  };
  expect(read('status=failed')).toEqual(['error,timeout,budget_exceeded,interrupted', []]);
  expect(read('status=under+way,done')).toEqual(['queued,running,waiting,done', []]);
  expect(read('status=Error')).toEqual(['error', []]);
  expect(read('status=broken')).toEqual(['', [expect.stringContaining('the status broken,')]]);
  expect(read('time=2y&order=odd')).toEqual([
    '',
    [expect.stringContaining('2y'), expect.stringContaining('odd')],
  ]);
});

test('pages follow each other without a double', () => {
  expect(ids(appendPage([run(3), run(2)], [run(2), run(1)]))).toEqual([3, 2, 1]);
});

test('new runs come on top; after too many the list begins anew', () => {
  const merged = mergeHead([run(2), run(1)], [run(4), run(3), run(2)], false);
  expect([ids(merged.runs), merged.onTop]).toEqual([[4, 3, 2, 1], 2]);
  expect(mergeHead([run(2)], [run(9), run(8)], false)).toMatchObject({ isAnew: true });
});

test('read again, the newest have what fits now between others, and lack what fits no more', () => {
  const before = [run(7), run(5), run(2), run(1)];
  const head = [run(7), run(6), run(3)];
  expect(ids(mergeHead(before, head, false).runs)).toEqual([7, 6, 3, 2, 1]);
  expect(ids(mergeHead(before, head, true).runs)).toEqual([7, 6, 3]);
});

test('a run that fits now is placed by its age; behind the last one only where the list is whole', () => {
  const runs = [run(7), run(5)];
  const place = (order: 'newest' | 'oldest', isWhole: boolean) =>
    ids(
      insertRuns(
        order === 'newest' ? runs : runs.toReversed(),
        [run(9), run(6), run(5), run(1)],
        order,
        isWhole,
      ),
    );
  expect(place('newest', false)).toEqual([9, 7, 6, 5]);
  expect(place('newest', true)).toEqual([9, 7, 6, 5, 1]);
  expect(place('oldest', false)).toEqual([1, 5, 6, 7]);
  expect(insertRuns([], [run(1)], 'newest', false)).toEqual([]);
});

test('a run that fits the filter no more leaves the list', () => {
  const runs = updateRuns([run(2), run(1)], ['run_2', 'run_1'], [run(1, { status: 'error' })]);
  expect(runs.map(({ runId, status }) => [runId, status])).toEqual([['run_1', 'error']]);
});

test('by session, each session has a row', () => {
  const rows = toRows([run(3, { session: 'a' }), run(2), run(1, { session: 'a' })], true);
  expect(
    rows.map((row) => (row.kind === 'run' ? row.run.acceptedOffset : `${row.session}:${row.count}`)),
  ).toEqual([...['a:2', 3, 1], ...[':1', 2]]);
});

test('a hundred thousand runs are read page by page, each page with the cursor of the last', async () => {
  const { client, asked } = createHost(100_000);
  const pager = new RunPager(client, parseFilter(new URLSearchParams()));
  await pager.loadMore();
  expect(pager.state.runs).toHaveLength(PAGE);
  await Promise.all([pager.loadMore(), pager.loadMore()]);
  expect(pager.state.runs).toHaveLength(2 * PAGE);
  expect(asked.map(({ after }) => after)).toEqual([undefined, 'run_99901']);
});

test('the last page ends the list', async () => {
  const { client } = createHost(PAGE + 1);
  const pager = new RunPager(client, parseFilter(new URLSearchParams()));
  await pager.loadMore();
  await pager.loadMore();
  expect([pager.state.runs.length, pager.state.isWhole]).toEqual([PAGE + 1, true]);
});

test('an error is shown, and the next success removes it', async () => {
  const { client } = createHost(1);
  let isBroken = true;
  const get: Client['get'] = (...args) =>
    isBroken ? Promise.reject(new Error('gone')) : client.get(...args);
  const pager = new RunPager({ ...client, get }, parseFilter(new URLSearchParams()));
  await pager.loadMore();
  expect(pager.state.problem?.code).toBe('UNREACHABLE');
  isBroken = false;
  await pager.loadMore();
  expect([pager.state.problem, pager.state.runs.length]).toEqual([null, 1]);
});

test('a run that begins to fit the filter appears where it belongs, however many changed', async () => {
  const { client, all } = createHost(5);
  const fitting = new Set(['run_4', 'run_1']);
  const get: Client['get'] = async <T>(path: string, query: Query = {}) =>
    (await client.get<ListedRun[]>(path, query)).filter(({ runId }) => fitting.has(runId)) as T;
  const pager = new RunPager({ ...client, get }, parseFilter(new URLSearchParams('status=error')));
  await pager.loadMore();
  expect(ids(pager.state.runs)).toEqual([4, 1]);
  for (const id of ['run_5', 'run_2']) fitting.add(id);
  fitting.delete('run_1');
  const strangers = Array.from({ length: 250 }, (_, index) => `run_x${index}`);
  await pager.refresh(new Set([...strangers, ...all.map(({ runId }) => runId)]));
  expect([ids(pager.state.runs), pager.state.onTop]).toEqual([[5, 4, 2], 1]);
});

test.each(['newest', 'oldest'])(
  'a list that could not be read is read when the host is back, %s first',
  async (order) => {
    const { client } = createHost(2);
    let isGone = true;
    const get: Client['get'] = (...args) =>
      isGone ? Promise.reject(new Error('gone')) : client.get(...args);
    const pager = new RunPager({ ...client, get }, parseFilter(new URLSearchParams({ order })));
    await pager.loadMore();
    isGone = false;
    await pager.refreshHead();
    expect([pager.state.problem, pager.state.runs.length]).toEqual([null, 2]);
  },
);

test('only so many runs are kept, however many come or are scrolled through', async () => {
  const { client, all } = createHost(2 * MAX_KEPT);
  const pager = new RunPager(client, parseFilter(new URLSearchParams()));
  for (let page = 0; page < (2 * MAX_KEPT) / PAGE; page += 1) await pager.loadMore();
  expect([pager.state.runs.length, pager.state.isFull, pager.state.isWhole]).toEqual([MAX_KEPT, true, false]);
  all.unshift(run(2 * MAX_KEPT + 2), run(2 * MAX_KEPT + 1));
  await pager.refreshHead();
  expect([pager.state.runs.length, pager.state.onTop]).toEqual([MAX_KEPT, 2]);
  expect(ids(pager.state.runs)[0]).toBe(2 * MAX_KEPT + 2);
});

test('with the oldest first, new runs come behind the last', async () => {
  const { client, all } = createHost(2);
  const pager = new RunPager(client, parseFilter(new URLSearchParams('order=oldest')));
  all.reverse();
  await pager.loadMore();
  all.push(run(3));
  await pager.refreshHead();
  expect(ids(pager.state.runs)).toEqual([1, 2, 3]);
});
