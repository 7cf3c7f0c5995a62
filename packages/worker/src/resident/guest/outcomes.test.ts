import { setImmediate as inNextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createOutcomes } from './outcomes.ts';

const over = (value: unknown, place: number, asked: number) => ({ ok: true, value, place, asked });

/** What the role has got, in order. */
function listen(outcomes: ReturnType<typeof createOutcomes>) {
  const got: unknown[] = [];
  const ask = (ordinal: number): void =>
    void outcomes.next(ordinal).then(
      ({ value }) => got.push(value),
      (error: Error) => got.push(error.message),
    );
  const pass = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await inNextTurn();
  };
  return { got, ask, pass };
}

describe('the outcomes of a turn that is made again', () => {
  it('come in the order in which the steps ended, each when as many steps were asked for as then', async () => {
    const outcomes = createOutcomes([
      { ordinal: 0, outcome: over('answered', 1, 3) },
      { ordinal: 1, outcome: over('slept', 0, 2) },
      { ordinal: 2 },
    ]);
    const { got, ask, pass } = listen(outcomes);
    ask(0);
    await pass();
    expect(got).toEqual([]);
    ask(1);
    await pass();
    expect([got, outcomes.isReplaying()]).toEqual([['slept'], true]);
    ask(2);
    await pass();
    expect([got, outcomes.isReplaying()]).toEqual([['slept', 'answered'], false]);
    outcomes.add(2, over('ran', 2, 3));
    await pass();
    expect(got).toEqual(['slept', 'answered', 'ran']);
  });

  it('leave the role time for what it does with one before it gets the next', async () => {
    const outcomes = createOutcomes([
      { ordinal: 0, outcome: over('a', 0, 2) },
      { ordinal: 1, outcome: over('b', 1, 2) },
    ]);
    const order: string[] = [];
    const follow = async (ordinal: number, hops: number): Promise<void> => {
      const { value } = await outcomes.next(ordinal);
      for (let hop = 0; hop < hops; hop += 1) await Promise.resolve();
      order.push(String(value));
    };
    await Promise.all([follow(0, 20), follow(1, 0)]);
    expect(order).toEqual(['a', 'b']);
  });

  it('that arrive before their steps are asked for again, or twice, come in their order and once', async () => {
    const outcomes = createOutcomes([{ ordinal: 0 }, { ordinal: 1 }]);
    const { got, ask, pass } = listen(outcomes);
    outcomes.add(1, over('second', 0, 2));
    outcomes.add(0, over('first', 1, 2));
    ask(0);
    ask(1);
    outcomes.add(0, over('again', 1, 2));
    await pass();
    outcomes.add(1, over('again', 0, 2));
    await pass();
    expect(got).toEqual(['second', 'first']);
  });

  it('are not held for ever from a role that asks for fewer steps than before', async () => {
    const outcomes = createOutcomes([{ ordinal: 0, outcome: over('answered', 0, 2) }], 10);
    expect(await outcomes.next(0)).toMatchObject({ value: 'answered' });
  });

  it('do not come once the turn is given up', async () => {
    const outcomes = createOutcomes([{ ordinal: 0, outcome: over('answered', 0, 1) }]);
    const { got, ask, pass } = listen(outcomes);
    ask(0);
    outcomes.abort(new Error('cancelled'));
    await pass();
    expect(got).toEqual(['cancelled']);
  });
});
