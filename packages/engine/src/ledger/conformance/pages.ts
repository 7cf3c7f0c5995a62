// A list is a page: which runs it has, in which order, and what follows it.

import { beforeEach, describe, expect, test } from 'vitest';
import type { NewEvent, RunFilter } from '../contract.ts';
import { accepted, approval, AT, finished, launched, started } from '../fixtures/sample-events.ts';
import { useLedger, type LedgerAtHand, type OpenLedger } from './open-ledger.ts';

export function describePages(open: OpenLedger): void {
  describe('lists', () => {
    const at = useLedger(open);
    describeApprovals(at);
    describe('of runs', () => {
      beforeEach(() => appendRuns(at));
      describeConditions(at);
      describePaging(at);
      describeSearching(at);
    });
  });
}

/** A run that was accepted at this minute. */
function acceptedAt(runId: string, minute: number, extra: Record<string, unknown> = {}): NewEvent {
  return { ...accepted(runId, extra), at: `2026-01-02T03:0${minute}:00.000Z` };
}

const task = (description: string) => ({ task: { id: 't', description, priority: 5 } });

async function appendRuns(at: LedgerAtHand): Promise<void> {
  await at.ledger.append([
    acceptedAt('run_0001aaaa', 1, { agent: 'fixer', session: 's', ...task('Fix the LOGIN page') }),
    acceptedAt('run_0002bbbb', 2, { runtime: 'codex', ...task('100% of it') }),
    acceptedAt('run_0003abbb', 3, { agent: 'fixer', continues: 'run_0001aaaa', ...task('login_again') }),
    acceptedAt('run_0004cccc', 0), // its clock was behind
    { ...finished('run_0003abbb', 0), at: '2026-01-02T03:07:00.000Z' },
    { ...finished('run_0001aaaa', 0), at: '2026-01-02T03:08:00.000Z' },
  ]);
}

function describeConditions(at: LedgerAtHand): void {
  const ids = (filter: RunFilter): string[] => at.ledger.runs(filter).map(({ runId }) => runId);
  test('a list has the runs that every condition names', () => {
    expect(ids({ agent: 'fixer' })).toEqual(['run_0001aaaa', 'run_0003abbb']);
    expect(ids({ agent: 'fixer', session: 's' })).toEqual(['run_0001aaaa']);
    expect(ids({ runtime: 'codex' })).toEqual(['run_0002bbbb']);
    expect(ids({ continues: 'run_0001aaaa' })).toEqual(['run_0003abbb']);
    expect(ids({ ids: ['run_0004cccc', 'run_none', 'run_0001aaaa'] })).toEqual([
      'run_0001aaaa',
      'run_0004cccc',
    ]);
    expect(ids({ ids: [] })).toEqual([]);
    expect(ids({ text: 'login' })).toEqual(['run_0001aaaa', 'run_0003abbb']);
    expect(ids({ text: 'n_a' })).toEqual(['run_0003abbb']);
    expect(ids({ text: '0%' })).toEqual(['run_0002bbbb']);
    expect(ids({ text: 'login', status: 'queued' })).toEqual([]);
  });
}

async function acceptMany(at: LedgerAtHand): Promise<void> {
  const many = Array.from({ length: 600 }, (_none, index) =>
    accepted(`run_many${String(index).padStart(4, '0')}`, {
      agent: index % 2 === 0 ? 'even' : 'odd',
      runtime: index % 3 === 0 ? 'codex' : 'command',
      ...task(index % 290 === 7 ? 'a needle' : 'hay'),
    }),
  );
  await at.ledger.append(many);
}

function describeSearching(at: LedgerAtHand): void {
  test('what is rare is found in pieces as at once, in each order and with each page', async () => {
    await acceptMany(at);
    const orders: RunFilter[] = [{}, { order: 'ended' }, { since: '2026-01-02T03:00:00.000Z' }];
    const conditions: RunFilter[] = [
      { text: 'needle' },
      { text: 'login' },
      { agent: 'even', runtime: 'codex' },
      { agent: 'fixer', status: ['done', 'queued'] },
    ];
    for (const order of orders)
      for (const condition of conditions)
        for (const page of [{}, { limit: 2 }, { limit: 300, newestFirst: true }, { after: 'run_many0300' }]) {
          const filter = { ...order, ...condition, ...page };
          expect(await at.ledger.searchRuns(filter), JSON.stringify(filter)).toEqual(at.ledger.runs(filter));
        }
  });
}

function describePaging(at: LedgerAtHand): void {
  const ids = (filter: RunFilter): string[] => at.ledger.runs(filter).map(({ runId }) => runId);
  test('with times a list is in their order, from the first to before the last', () => {
    const [since, until] = ['2026-01-02T03:01:00.000Z', '2026-01-02T03:03:00.000Z'];
    expect(ids({ since, until })).toEqual(['run_0001aaaa', 'run_0002bbbb']);
    expect(ids({ since, until, runtime: 'codex' })).toEqual(['run_0002bbbb']);
    expect(ids({ until, newestFirst: true })).toEqual(['run_0002bbbb', 'run_0001aaaa', 'run_0004cccc']);
    expect(ids({ until, newestFirst: true, after: 'run_0002bbbb', limit: 1 })).toEqual(['run_0001aaaa']);
  });

  test('pages follow each other without a hole, in every order and over several statuses', () => {
    const walk = (filter: RunFilter): string[] => {
      const found: string[] = [];
      for (let page = ids({ ...filter, limit: 1 }); page[0] !== undefined && found.length < 9;) {
        found.push(page[0]);
        page = ids({ ...filter, limit: 1, after: page[0] });
      }
      return found;
    };
    const both = { status: ['done', 'queued'] } as const;
    const orders: RunFilter[] = [{}, both, { order: 'ended' }, { since: '2026' }, { ...both, since: '2026' }];
    for (const order of orders.flatMap((one) => [one, { ...one, newestFirst: true }]))
      expect(walk(order)).toEqual(ids(order));
    expect(ids(both)).toEqual(ids({}));
    expect(ids({ order: 'ended', newestFirst: true })).toEqual(['run_0001aaaa', 'run_0003abbb']);
    expect(ids({ after: 'run_none' })).toEqual([]);
  });

  test('a run is found by the beginning and by the end of its id', () => {
    const { ledger } = at;
    expect(ledger.runIds({ beginning: 'run_0002' }, 9)).toEqual(['run_0002bbbb']);
    expect(ledger.runIds({ beginning: 'run_' }, 2)).toEqual(['run_0004cccc', 'run_0003abbb']);
    expect(ledger.runIds({ end: 'aaaa' }, 9)).toEqual(['run_0001aaaa']);
    expect(ledger.runIds({ end: '3abbb' }, 9)).toEqual(['run_0003abbb']);
    expect(ledger.runIds({ end: '2abbb' }, 9)).toEqual([]);
    expect(ledger.runIds({ beginning: 'run%' }, 9)).toEqual([]);
  });
}

function describeApprovals(at: LedgerAtHand): void {
  test('an approval is open until it is decided, or until its attempt ends', async () => {
    const { ledger } = at;
    const seen = (): string[] =>
      ledger.approvals().map(({ approvalId, status, by = '' }) => `${approvalId} ${status} ${by}`);
    await ledger.append([accepted('run_a'), launched('run_a', 1), started('run_a', 1)]);
    await ledger.append([approval('requested', 'approval_1'), approval('requested', 'approval_2')]);
    expect(ledger.approval('approval_1')).toEqual({
      approvalId: 'approval_1',
      runId: 'run_a',
      tool: 'bash',
      what: 'rm -r x',
      actionClass: 'destructive',
      requestedAt: AT,
      requestedOffset: 4,
      deadlineAt: AT,
      status: 'open',
    });
    await ledger.append([approval('decided', 'approval_1'), approval('requested', 'approval_3')]);
    expect(seen()).toEqual(['approval_1 allowed user', 'approval_2 open ', 'approval_3 open ']);
    expect(ledger.approvals({ status: 'open', runId: 'run_a' }).length).toBe(2);
    expect(ledger.approvals({ idEnd: 'al_3' }).map(({ approvalId }) => approvalId)).toEqual(['approval_3']);
    expect(ledger.approvals({ runId: 'run_b' })).toEqual([]);
    const page = (after: string) => ledger.approvals({ after, limit: 1 }).map((row) => row.approvalId);
    expect([page('approval_1'), page('approval_3'), page('approval_none')]).toEqual([['approval_2'], [], []]);
    await ledger.append([finished('run_a'), approval('requested', 'approval_4')]);
    expect(seen()).toEqual([
      'approval_1 allowed user',
      'approval_2 denied ending',
      'approval_3 denied ending',
      'approval_4 denied ending',
    ]);
    expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
  });
}
