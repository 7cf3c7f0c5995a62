import type { Failure } from '@caisson/protocol';
import { describe, expect, test } from 'vitest';
import { createLoopBreaker, type LoopBreaker } from './loop-breaker.ts';

function watch(): { loop: LoopBreaker; endings: Failure[] } {
  const endings: Failure[] = [];
  return { loop: createLoopBreaker((failure) => endings.push(failure)), endings };
}

let serial = 0;
function call(loop: LoopBreaker, tool: string, input: unknown, ok: boolean): void {
  const callId = String((serial += 1));
  loop.receive({ kind: 'tool-start', callId, tool, input });
  loop.receive({ kind: 'tool-end', callId, ok });
}
const times = (count: number, work: () => void): void => Array.from({ length: count }).forEach(work);

describe('the loop breaker', () => {
  test('ends at the fifth denial of the same call, whatever lies between', () => {
    const { loop, endings } = watch();
    times(4, () => {
      loop.denied('Bash', { command: 'git push --force' });
      call(loop, 'Read', { file_path: 'a' }, true);
    });
    expect(endings).toEqual([]);
    loop.denied('Bash', { command: 'git push --force', description: 'said in other words' });
    expect(endings).toMatchObject([{ reason: 'policy-denied', cause: 'loop' }]);
  });

  test('does not add up denials of different calls', () => {
    const { loop, endings } = watch();
    times(4, () => loop.denied('Bash', { command: 'rm -rf a' }));
    times(4, () => loop.denied('Bash', { command: 'rm -rf b' }));
    expect(endings).toEqual([]);
  });

  test('ends at the fifth failure of the same call', () => {
    const { loop, endings } = watch();
    times(5, () => call(loop, 'Edit', { path: 'a', old: 'x' }, false));
    expect(endings).toMatchObject([{ reason: 'provider-failed', cause: 'loop' }]);
  });

  test('ends two failing calls that take turns', () => {
    const { loop, endings } = watch();
    times(5, () => {
      call(loop, 'Edit', { path: 'a' }, false);
      call(loop, 'Edit', { path: 'b' }, false);
    });
    expect(endings.length).toBeGreaterThan(0);
  });

  test('lets an agent edit and test again as often as it likes', () => {
    const { loop, endings } = watch();
    times(20, () => {
      call(loop, 'Bash', { command: 'npm test' }, false);
      call(loop, 'Edit', { path: 'a' }, true);
    });
    expect(endings).toEqual([]);
  });
});
