import { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createOrderWriter } from './order-writer.ts';

/** A reader that takes one order for each call of `takeOne`. */
function openControl() {
  const read: string[] = [];
  let take: (() => void) | null = null;
  const control = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, done) {
      take = () => {
        take = null;
        read.push(chunk.toString());
        done();
      };
    },
  });
  return { control, read, takeOne: () => take?.() };
}

test('orders that wait are taken in their order, each when there is room, with one listener', async () => {
  const { control, read, takeOne } = openControl();
  const orders = createOrderWriter(control);
  const taken: number[] = [];
  const sent = Array.from({ length: 100 }, async (_, index) => {
    expect(await orders.write(`${index}`)).toBe(true);
    taken.push(index);
  });
  expect([control.listenerCount('drain'), control.listenerCount('close')]).toEqual([1, 1]);
  for (let count = 1; count <= 100; count += 1) {
    await nextTurn(); // what is written in a turn goes out at its end
    takeOne();
    await nextTurn();
    expect(taken.length).toBe(count);
  }
  await Promise.all(sent);
  expect(read).toEqual(Array.from({ length: 100 }, (_, index) => `${index}`));
  expect(taken).toEqual(read.map(Number));
});

test('what is not taken before the end is refused', async () => {
  const { control } = openControl();
  const orders = createOrderWriter(control);
  const sent = ['a', 'b', 'c'].map((text) => orders.write(text));
  control.destroy();
  expect(await Promise.all(sent)).toEqual([false, false, false]);
  expect(await orders.write('d')).toBe(false);
});
