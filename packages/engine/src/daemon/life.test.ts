import { createManualClock } from '@caisson/ground';
import type { DaemonPhase } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { DaemonStoppingError } from './errors.ts';
import { createGate } from './gate.ts';
import { createLife } from './life.ts';

/** A daemon with one run, which ends on request. */
function open() {
  const clock = createManualClock(0);
  const log: string[] = [];
  const run = Promise.withResolvers<void>();
  let isOver = false;
  const end = (): void => {
    isOver = true;
    run.resolve();
  };
  const phases: DaemonPhase[] = [];
  const life = createLife({
    clock,
    work: {
      underWay: () => [...gate.entering(), ...(isOver ? [] : [run.promise])],
      shutdown({ force }) {
        log.push(force ? 'kill' : 'stop');
        if (force) end();
        return run.promise;
      },
      leave: () => Promise.resolve(void log.push('leave')),
      close: () => Promise.resolve(void log.push('close')),
    },
    onPhase: (phase) => void phases.push(phase),
  });
  const gate = createGate(() => life.phase() === 'serving');
  return { clock, log, end, phases, life, gate };
}

/** Lets everything that is ready run. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('draining accepts nothing, waits for what was accepted, then closes', async () => {
  const { life, gate, end, log, phases } = open();
  const entering = Promise.withResolvers<string>();
  const accepted = gate.enter(() => entering.promise);
  life.stop({ drainMs: 1000 });
  await expect(gate.enter(() => Promise.resolve('late'))).rejects.toThrow(DaemonStoppingError);
  expect([life.phase(), life.drainsUntilMs()]).toEqual(['draining', 1000]);
  end();
  await turn();
  expect(log).toEqual([]); // one is still being accepted
  entering.resolve('in time');
  expect(await accepted).toBe('in time');
  await life.ended;
  expect(log).toEqual(['stop', 'close']);
  expect(phases).toEqual(['draining', 'stopping']);
});

test('what has not ended in time is stopped', async () => {
  const { life, clock, end, log } = open();
  life.stop({ drainMs: 1000 });
  await turn();
  clock.advance(1000);
  await turn();
  expect([life.phase(), log]).toEqual(['stopping', ['stop']]);
  end();
  await life.ended;
  expect(log).toEqual(['stop', 'close']);
});

test('an order to stop at once ends the draining, and a longer drain changes nothing', async () => {
  const { life, end, log } = open();
  life.stop({ drainMs: 1000 });
  life.stop({ drainMs: 90_000 });
  expect(life.drainsUntilMs()).toBe(1000);
  life.stop({ now: true });
  await turn();
  expect([life.phase(), log]).toEqual(['stopping', ['stop']]);
  end();
  await life.ended;
});

test('a shorter drain ends the draining earlier, also from a clock that was set meanwhile', async () => {
  const { life, clock, end, log } = open();
  life.stop({ drainMs: 600_000 });
  await turn();
  clock.stepWall(3_600_000);
  life.stop({ drainMs: 1000 });
  expect(life.drainsUntilMs()).toBe(3_601_000);
  clock.advance(1000);
  await turn();
  expect([life.phase(), log]).toEqual(['stopping', ['stop']]);
  end();
  await life.ended;
});

test('force kills what does not stop by itself', async () => {
  const { life, log } = open();
  life.stop({ now: true });
  await turn();
  life.force();
  await life.ended;
  expect(log).toEqual(['stop', 'kill', 'close']);
});

test('leaving stops nothing', async () => {
  const { life, log, phases } = open();
  life.stop({ leave: true });
  await turn();
  expect([log, phases]).toEqual([['leave', 'close'], ['leaving']]);
  await life.ended;
});

test('an order to stop that comes while it leaves stops nothing that was left', async () => {
  const { life, log, phases } = open();
  life.stop({ leave: true });
  life.stop({ now: true });
  await life.ended;
  expect([log, phases]).toEqual([['leave', 'close'], ['leaving']]);
});

test('an order to leave while it drains leaves what still runs', async () => {
  const { life, log, phases } = open();
  life.stop({ drainMs: 1000 });
  await turn();
  life.stop({ leave: true });
  await life.ended;
  expect([log, phases]).toEqual([
    ['leave', 'close'],
    ['draining', 'leaving'],
  ]);
});

test('an order to stop while it drains stops what still runs, also after an order to drain longer', async () => {
  const { life, log, phases, end } = open();
  life.stop({ drainMs: 1000 });
  life.stop({ drainMs: 5000 });
  life.stop({ now: true });
  end();
  await life.ended;
  expect([log, phases]).toEqual([
    ['stop', 'close'],
    ['draining', 'stopping'],
  ]);
});
