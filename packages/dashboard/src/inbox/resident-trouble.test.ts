import type { SenseView, ThreadRow, WorkflowView } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { findTroubles } from './resident-trouble.ts';

/** Only the members that are read. */
const sense = (name: string, more: Partial<SenseView>) =>
  ({ name, state: 'ready', computes: 3, failures: 0, ...more }) as SenseView;
const thread = (threadId: string, status: string, more: Partial<ThreadRow> = {}) =>
  ({ threadId, status, workflow: 'restock', acceptedAt: 'then', detail: 'no shelf', ...more }) as ThreadRow;
const workflow = (name: string, state: string) => ({ name, state }) as WorkflowView;
const NOTHING = { senses: [], workflows: [], threads: [] };

test('a sense whose computes fail is listed, and one that works again is not', () => {
  const senses = [
    sense('orders', { failures: 3, lastProblem: 'threw: no such table' }),
    sense('prices', { failures: 2 }),
    sense('stock', { state: 'blocked' }),
  ];
  const found = findTroubles({ ...NOTHING, senses }, new Set());
  expect(found.map(({ name, state, detail }) => [name, state, detail])).toEqual([
    ['Sense orders: every compute failed', 'failed', 'threw: no such table'],
    ['Sense stock', 'blocked', 'It is blocked.'],
  ]);
  expect(findTroubles({ ...NOTHING, senses }, new Set(found.map(({ id }) => id)))).toEqual([]);
});

test('the failed threads of a workflow are one entry, which hides all of them', () => {
  const threads = [
    thread('c', 'timeout'),
    thread('b', 'failed'),
    thread('again', 'done', { continues: 'old' }),
    thread('old', 'failed'),
    thread('ended', 'cancelled'),
  ];
  const [found, ...others] = findTroubles({ ...NOTHING, threads }, new Set());
  expect([found, others]).toMatchObject([
    { id: 'c', ids: ['c', 'b'], name: 'Thread of restock: 2 failed', state: 'timeout' },
    [],
  ]);
  expect(findTroubles({ ...NOTHING, threads }, new Set(found?.ids))).toEqual([]);
});

test('a workflow that cannot be loaded is listed', () => {
  const workflows = [workflow('restock', 'unloadable'), workflow('other', 'ready')];
  expect(findTroubles({ ...NOTHING, workflows }, new Set()).map(({ name }) => name)).toEqual([
    'Workflow restock',
  ]);
});
