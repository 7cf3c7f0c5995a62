import { Question } from '@caisson/protocol';
import { expect, test } from 'vitest';
import type { Ledger } from '../contract.ts';
import { IdempotencyKeyTakenError } from '../errors.ts';
import {
  accepted,
  approval,
  AT,
  fact,
  finished,
  launched,
  question,
  started,
} from '../fixtures/sample-events.ts';
import { everyRow } from './every-row.ts';
import type { LedgerAtHand } from './open-ledger.ts';

export function describeListings(at: LedgerAtHand): void {
  test('other facts may follow the ending and the seal moves along', async () => {
    await at.ledger.append([
      accepted('run_a'),
      finished('run_a', 0),
      { ...fact('run_a'), type: 'callback.delivered' },
    ]);
    expect(at.ledger.verifyRun('run_a')).toMatchObject({ ok: true, isEnded: true, count: 3, problems: [] });
    expect(at.ledger.read({ runId: 'run_a' }).length).toBe(3);
  });

  test('an idempotency key belongs to the run that was accepted first', async () => {
    await at.ledger.append([accepted('run_a', { idempotencyKey: 'k' })]);
    const second = at.ledger.append([accepted('run_b', { idempotencyKey: 'k' })]);
    await expect(second).rejects.toThrow(IdempotencyKeyTakenError);
    await expect(second).rejects.toMatchObject({ runId: 'run_a' });
    expect(at.ledger.runs({ idempotencyKey: 'k' }).map((run) => run.runId)).toEqual(['run_a']);
  });

  test('a question is asked, listed and answered', async () => {
    await at.ledger.append([accepted('run_a'), question('asked')]);
    expect(at.ledger.questions({ status: 'open' })).toEqual([
      {
        questionId: 'q_1',
        runId: 'run_a',
        attempt: 0,
        status: 'open',
        text: 'red or blue?',
        options: ['red', 'blue'],
        askedAt: AT,
        askedOffset: 2,
      },
    ]);
    await at.ledger.append([{ ...finished('run_a', 0), type: 'dispatch.needs_input' }, question('answered')]);
    expect(at.ledger.question('q_1')).toMatchObject({ status: 'answered', answer: 'blue', closedAt: AT });
    expect(at.ledger.questions({ status: 'open' })).toEqual([]);
    expect(at.ledger.questions({ runId: 'run_a' }).length).toBe(1);
    expect(at.ledger.questions({ limit: 0 })).toEqual([]);
    expect(at.ledger.questions({ after: 'q_1' })).toEqual([]);
    expect(at.ledger.run('run_a')).toMatchObject({ status: 'answered', continuedBy: 'run_b' });
    expect(Question.parse(at.ledger.question('q_1'))).toEqual(at.ledger.question('q_1'));
  });

  test('lists runs by session, by status and newest first', async () => {
    await at.ledger.append([
      accepted('run_a', { session: 's' }),
      accepted('run_b'),
      accepted('run_c', { session: 's' }),
    ]);
    expect(at.ledger.runs({ session: 's', newestFirst: true }).map((run) => run.runId)).toEqual([
      'run_c',
      'run_a',
    ]);
    expect(at.ledger.runs({ status: ['queued', 'running'], limit: 2 }).map((run) => run.runId)).toEqual([
      'run_a',
      'run_b',
    ]);
    expect(at.ledger.run('run_x')).toBeNull();
  });
}

export function describeRebuilding(at: LedgerAtHand): void {
  test('projections are rebuilt from events alone, and are then the same', async () => {
    await appendSomeLives(at.ledger);
    const before = everyRow(at.ledger);
    at.ledger.rebuildProjections();
    expect(everyRow(at.ledger)).toEqual(before);
    expect(at.ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
  });
}

async function appendSomeLives(ledger: Ledger): Promise<void> {
  await ledger.append([
    accepted('run_a', { session: 's', idempotencyKey: 'k' }),
    launched('run_a', 1),
    started('run_a', 1),
  ]);
  await ledger.append([approval('requested', 'approval_1'), approval('decided', 'approval_1')]);
  await ledger.append([
    approval('requested', 'approval_2'),
    question('asked'),
    { ...finished('run_a', 1), type: 'dispatch.needs_input' },
    question('answered'),
  ]);
  await ledger.append([
    accepted('run_b', { continues: 'run_a' }),
    fact('run_b'),
    finished('run_b', 0),
    fact(null),
  ]);
  await ledger.append([accepted('run_c')]);
}
