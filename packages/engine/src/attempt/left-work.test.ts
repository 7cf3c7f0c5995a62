import { expect, test } from 'vitest';
import type { Ledger, StoredOf } from '../ledger/index.ts';
import { findLeftWork } from './left-work.ts';

const checkpoint = { ref: 'refs/caisson/run/1', commit: 'c', tree: 't' };

function leftBy(...attempts: Record<string, unknown>[]) {
  const events = attempts.map(
    (data, index) => ({ attempt: index + 1, data }) as unknown as StoredOf<'attempt.ended'>,
  );
  return findLeftWork({ ledger: { read: () => events } as unknown as Ledger }, 'run');
}

test('the last attempt that left anything is named, also when that is no patch', () => {
  expect(leftBy({ patchRef: 'p' }, { patchMissing: 'why', checkpoint }, {})).toEqual({
    attempt: 3,
    data: { patchMissing: 'why', checkpoint, total: { attempts: 3, durationMs: 0 } },
  });
  expect(leftBy({ patchRef: 'p' }, { checkpoint })).toMatchObject({ attempt: 2, data: { patchRef: 'p' } });
  expect(leftBy({ checkpoint }, {})).toMatchObject({ attempt: 2, data: { checkpoint } });
});

test('only what is declared of a checkpoint is recorded again, whatever an earlier version recorded', () => {
  const earlier = { ...checkpoint, warnings: ['w'], branch: { name: 'b', commit: 'c', isHeld: true, at: 1 } };
  expect(leftBy({ checkpoint: earlier }).data).toEqual({
    checkpoint: { ...checkpoint, branch: { name: 'b', commit: 'c', isHeld: true } },
    total: { attempts: 1, durationMs: 0 },
  });
});

test('a run without an attempt has left nothing', () => {
  expect(leftBy()).toEqual({ attempt: 0, data: {} });
});
