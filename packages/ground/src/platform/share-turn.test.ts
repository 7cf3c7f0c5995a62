import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { shareTurn, takeTurn } from './share-turn.ts';

function holdLoop(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('work in many pieces leaves the loop to others between them, however many do it at once', async () => {
  const pieces: number[] = [];
  let turn = 0;
  let isOver = false;
  const counting = (async () => {
    while (!isOver) {
      await nextTurn();
      turn += 1;
    }
  })();
  const work = async (): Promise<void> => {
    for (let piece = 0; piece < 5; piece += 1) {
      await shareTurn();
      holdLoop(3);
      pieces.push(turn);
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  isOver = true;
  await counting;
  const inOneTurn = Math.max(...pieces.map((each) => pieces.filter((other) => other === each).length));
  expect(pieces).toHaveLength(20);
  expect(inOneTurn).toBeLessThanOrEqual(2);
});

test('those that wait go on in the order in which they came', async () => {
  const order: number[] = [];
  holdLoop(5);
  await Promise.all(
    [1, 2, 3, 4].map(async (number) => {
      await shareTurn();
      order.push(number);
    }),
  );
  expect(order).toEqual([1, 2, 3, 4]);
});

test('a long piece begins in a turn that is hardly used', async () => {
  let turn = 0;
  const count = (): void => {
    turn += 1;
    setImmediate(count).unref();
  };
  count();
  const begun: number[] = [];
  const piece = async (): Promise<void> => {
    await takeTurn();
    begun.push(turn);
    holdLoop(1);
  };
  await Promise.all([piece(), piece(), piece()]);
  expect(new Set(begun).size).toBe(3);
});

test('work that was aborted does not go on', async () => {
  await expect(shareTurn(AbortSignal.abort())).rejects.toThrow('aborted');
});
