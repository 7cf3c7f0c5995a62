import type { DispatchResult, Handoff } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { judgeEnding } from './judge-ending.ts';

const PLACE = { taskId: 't', branch: 'work', runId: 'run_1' };
const MAKE = 'git push /srv/r.git c1:refs/heads/work';

function handOff(verdict: Partial<Handoff['verdict']>): Handoff {
  const checked = { patchApplies: true, scopeRespected: true, verify: 'none', isEmpty: false, pushed: false };
  return { taskId: 't', verdict: { ...checked, branchExists: true, ...verdict } } as Handoff;
}

const made = { name: 'work', commit: 'c1', status: 'created' } as const;
const held = { ...made, status: 'held' } as const;
const failedPush = {
  remote: '/srv/r.git',
  branch: 'work',
  status: 'failed',
  detail: 'closed today',
} as const;
const timeout = {
  status: 'timeout',
  failure: { reason: 'timeout', detail: 'too slow' },
} as const;

test.each<[string, boolean, Partial<DispatchResult>, object]>([
  [
    'not pushed',
    true,
    { handoff: handOff({}), branch: made, push: failedPush },
    { code: 'PUSH_FAILED', message: /closed today/, remedy: /caisson branches run_1 --push/ },
  ],
  [
    'not pushed, because the pool was stopped',
    true,
    { handoff: handOff({}), branch: made, push: { ...failedPush, status: 'pending', detail: undefined } },
    { code: 'PUSH_FAILED', message: /its push was stopped/, remedy: /caisson branches run_1 --push/ },
  ],
  [
    'held, because of files outside the scope',
    true,
    { handoff: handOff({ branchExists: false }), branch: { ...held, detail: MAKE } },
    { code: 'PUSH_FAILED', message: new RegExp(`not made: ${MAKE}`), remedy: /the message has the command/ },
  ],
  [
    'held, because of risky files',
    true,
    { handoff: handOff({ branchExists: false }), branch: held },
    { code: 'PUSH_FAILED', message: /risky files/, remedy: /a warning of the run \(caisson logs run_1\)/ },
  ],
  [
    'taken, in the own repository',
    false,
    { handoff: handOff({ branchExists: false }), branch: { ...made, status: 'taken', detail: MAKE } },
    { code: 'PUSH_FAILED', message: new RegExp(`not made: ${MAKE}`) },
  ],
  [
    'of a run that ran out of time, and not pushed',
    true,
    { ...timeout, handoff: handOff({}), branch: made, push: failedPush },
    {
      code: 'WORKER_TIMEOUT',
      message: /on work, which is here and not on its remote: closed today/,
      remedy: /caisson continue run_1 "…"\. .*caisson branches run_1 --push/,
    },
  ],
  [
    'of a run that ran out of time, and held',
    true,
    { ...timeout, handoff: handOff({ branchExists: false }), branch: { ...held, detail: MAKE } },
    { code: 'WORKER_TIMEOUT', message: new RegExp(`work was not made: ${MAKE}`) },
  ],
])('a branch that is %s is said to be that, with what helps', (_which, isPushed, result, expected) => {
  const judge = (): Handoff =>
    judgeEnding(PLACE, { runId: 'run_1', status: 'done', ...result } as DispatchResult, isPushed);
  const { code, message, remedy = /./ } = expected as { code: string; message: RegExp; remedy?: RegExp };
  let thrown: unknown;
  try {
    judge();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({
    code,
    message: expect.stringMatching(message) as string,
    remedy: expect.stringMatching(remedy) as string,
  });
  const isUnmade = result.branch?.status !== 'created';
  if (isUnmade) expect((thrown as { remedy: string }).remedy).not.toContain('--push');
});

test('a run that needs input is a failed task, and one that changed nothing needs no branch', () => {
  const waiting = { runId: 'run_1', status: 'waiting' } as DispatchResult;
  expect(() => judgeEnding(PLACE, waiting, true)).toThrow(
    expect.objectContaining({ code: 'WORKER_FAILED' }) as Error,
  );
  const handoff = handOff({ branchExists: false, isEmpty: true });
  expect(judgeEnding(PLACE, { runId: 'run_1', status: 'done', handoff } as DispatchResult, true)).toBe(
    handoff,
  );
});
