import { describe, expect, test } from 'vitest';
import { IllegalTransitionError, RunTakenOverError } from '../errors.ts';
import { accepted, AT, fact, finished, launched, started } from '../fixtures/sample-events.ts';
import { useLedger, type LedgerAtHand, type OpenLedger } from './open-ledger.ts';

const adopted = (epoch: number, host = `host_${epoch}`) => ({
  ...fact('run_a', { host, epoch, previousHost: `host_${epoch - 1}` }),
  type: 'run.adopted',
  attempt: 1,
});

/** A run of one host after the other: who drove it before can write nothing of it. */
export function describeEpochs(open: OpenLedger): void {
  describe('epochs', () => {
    const at = useLedger(open);
    describeFences(at);
    describeAdoptions(at);
    describeTransfers(at);
  });
}

const begin = (at: LedgerAtHand) =>
  at.ledger.append([accepted('run_a'), launched('run_a', 1), started('run_a', 1)]);

function describeFences(at: LedgerAtHand): void {
  test('what an older epoch appends is refused as a whole, and what the newest one appends is accepted', async () => {
    await begin(at);
    await at.ledger.append([fact('run_a')], { fence: { runId: 'run_a', epoch: 1 } });
    await at.ledger.append([adopted(2)], { fence: { runId: 'run_a', epoch: 2 } });
    const before = at.ledger.lastOffset();
    const late = at.ledger.append([fact('run_a'), finished('run_a', 1)], {
      fence: { runId: 'run_a', epoch: 1 },
    });
    await expect(late).rejects.toThrow(RunTakenOverError);
    expect(at.ledger.lastOffset()).toBe(before);
    await at.ledger.append([finished('run_a', 1)], { fence: { runId: 'run_a', epoch: 2 } });
    expect(at.ledger.run('run_a')).toMatchObject({ status: 'done', host: 'host_2', epoch: 2 });
  });

  test('a fence decides in the order of the appends, also where they are written together', async () => {
    await begin(at);
    const fence = { runId: 'run_a', epoch: 1 };
    const settled = await Promise.allSettled([
      at.ledger.append([fact('run_a')], { fence }),
      at.ledger.append([adopted(2)]),
      at.ledger.append([fact('run_a')], { fence }),
      at.ledger.append([accepted('run_b')], { fence: { runId: 'run_b', epoch: 1 } }),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(at.ledger.read({ runId: 'run_a' }).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
  });

  test('an append without a fence is accepted: what others record of a run is not of its host', async () => {
    await begin(at);
    await at.ledger.append([adopted(2)]);
    await expect(at.ledger.append([fact('run_a')])).resolves.toHaveLength(1);
  });
}

function describeAdoptions(at: LedgerAtHand): void {
  test.each([0, 1, 3])('an adoption with epoch %i of a run of epoch 1 is refused', async (epoch) => {
    await begin(at);
    await expect(at.ledger.append([adopted(epoch)])).rejects.toThrow(IllegalTransitionError);
    expect(at.ledger.run('run_a')).toMatchObject({ host: 'host_1', status: 'running' });
  });

  test('of many hosts that adopt a run at once one has it, and the next epoch follows that one', async () => {
    await begin(at);
    const settled = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => at.ledger.append([adopted(2, `host_x${index}`)])),
    );
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await at.ledger.append([adopted(3)]);
    expect(at.ledger.run('run_a')).toMatchObject({ host: 'host_3', epoch: 3 });
    at.ledger.rebuildProjections();
    expect(at.ledger.run('run_a')).toMatchObject({ host: 'host_3', epoch: 3 });
    expect(at.ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
  });

  test('a run that has ended is not adopted', async () => {
    await begin(at);
    await at.ledger.append([finished('run_a', 1)]);
    await expect(at.ledger.append([adopted(2)])).rejects.toThrow(IllegalTransitionError);
  });
}

function describeTransfers(at: LedgerAtHand): void {
  test('what a run holds belongs to its new host, and nothing of others does', async () => {
    const { leases } = at.ledger;
    await at.ledger.append([accepted('run_a', { pool: 'p' }), accepted('run_b', { pool: 'p' })]);
    for (const runId of ['run_a', 'run_b'])
      leases.tryTake({ pool: 'p', runId, hostId: 'host_1', limit: 2, nowMs: Date.parse(AT) });
    leases.tryHold('folder:/a', 'run_a', 'host_1');
    leases.tryHold('folder:/b', 'run_b', 'host_1');
    leases.tryHold('other', 'host_1');
    leases.transfer('run_a', 'host_2', 'p');
    const reclaimed = leases.reclaim('host_1');
    expect(reclaimed.slots).toEqual(['run_b']);
    expect([...reclaimed.holds].toSorted((one, two) => one.localeCompare(two))).toEqual([
      'folder:/b',
      'other',
    ]);
    expect(leases.listSlots('p')).toMatchObject([{ runId: 'run_a', hostId: 'host_2' }]);
    expect(leases.listHolds()).toEqual([{ name: 'folder:/a', holder: 'run_a', hostId: 'host_2' }]);
    expect(leases.hosts()).toEqual(['host_2']);
  });
}
