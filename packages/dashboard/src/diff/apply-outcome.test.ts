import { expect, test } from 'vitest';
import { describeOutcome } from './apply-outcome.ts';

test('each refusal names the choice that follows', () => {
  const files = ['a'];
  const next = [
    { kind: 'dirty', files } as const,
    { kind: 'outside-scope', files } as const,
    { kind: 'check-failed', files } as const,
    { kind: 'other-repository', files, remote: '/srv/r.git' } as const,
    { kind: 'conflicts', files, areMarkersLeft: false } as const,
    { kind: 'risky', files, risks: [{ path: 'a', why: 'npm' }], isRefused: false } as const,
  ].map((result) => describeOutcome(result).next?.add);
  expect(next).toEqual([
    { force: true },
    { allowOutsideScope: true },
    { evenIfCheckFailed: true },
    { here: true },
    { leaveConflicts: true },
    { allowRisky: true },
  ]);
});

test('what is refused for good, and what is done, has no further choice', () => {
  const files = ['a'];
  expect(describeOutcome({ kind: 'risky', files, risks: [], isRefused: true }).next).toBeUndefined();
  expect(describeOutcome({ kind: 'applied', files })).toEqual({
    tone: 'ok',
    words: 'Applied to 1 file.',
    files,
  });
});
