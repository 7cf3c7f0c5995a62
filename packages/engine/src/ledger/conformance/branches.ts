import { definedOnly } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { accepted, fact, finished } from '../fixtures/sample-events.ts';
import type { LedgerAtHand } from './open-ledger.ts';

export function describeBranches(at: LedgerAtHand): void {
  const branch = { name: 'work', commit: 'c'.repeat(40), status: 'created' };
  const held = { ...branch, status: 'held' };
  const failure = { reason: 'timeout', detail: '' };
  const outcome = (type: string, data: Record<string, unknown> = {}) => ({
    ...fact('run_a', { remote: '/srv/r.git', branch: 'work', commit: branch.commit, ...data }),
    attempt: 0,
    type,
  });
  const failed = outcome('branch.push-failed', { commit: undefined, reason: 'taken', detail: 'd' });
  const pushed = outcome('branch.pushed');
  const dropped = outcome('branch.dropped', { remote: undefined });
  const drained = { ...fact('run_a', {}), attempt: 0, type: 'timeout.drained' };

  test.each([
    ['dispatch.finished', {}, true, ['pending', failed, 'failed', pushed, undefined]],
    ['dispatch.finished', {}, true, ['pending', failed, 'failed', dropped, undefined]],
    ['dispatch.finished', {}, true, ['pending', pushed, undefined, failed, undefined]],
    ['dispatch.failed', { failure }, true, ['pending', pushed, 'late', failed, 'late']],
    ['dispatch.finished', {}, false, ['kept', pushed, undefined]],
    ['dispatch.cancelled', { cause: 'user' }, true, ['kept', pushed, undefined]],
    ['dispatch.finished', {}, undefined, [undefined]],
    ['dispatch.failed', { failure }, undefined, ['late', drained, undefined]],
    ['dispatch.failed', { failure }, undefined, ['late', dropped, undefined]],
    ['dispatch.failed', { failure }, true, ['pending', drained, 'pending', pushed, 'late']],
    ['dispatch.failed', { failure, branch: held }, undefined, ['held', drained, undefined]],
    ['dispatch.failed', { failure, branch: held }, true, ['held', drained, 'held', dropped, undefined]],
    ['dispatch.finished', { branch: held }, true, ['held', dropped, undefined]],
    ['dispatch.finished', { branch: held }, undefined, [undefined]],
  ])('a branch of %s %o, with push %s, is found while it waits', async (type, data, push, story) => {
    const repository = push === undefined ? undefined : { remote: '/srv/r.git', push };
    const ending = { ...finished('run_a', 0), type, data: { durationMs: 1, branch, ...data } };
    await at.ledger.append([accepted('run_a', definedOnly({ repository })), accepted('run_b'), ending]);
    for (const step of story) {
      if (typeof step === 'object') {
        await at.ledger.append([{ ...step, data: definedOnly(step.data) }]);
        continue;
      }
      expect(at.ledger.run('run_a')?.waitingBranch).toBe(step);
      for (const waitingBranch of ['pending', 'failed', 'kept', 'late', 'held'] as const)
        expect(at.ledger.runs({ waitingBranch })).toHaveLength(waitingBranch === step ? 1 : 0);
    }
    expect(at.ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
    at.ledger.rebuildProjections();
    expect(at.ledger.run('run_a')?.waitingBranch).toBe(story.at(-1));
  });
}
