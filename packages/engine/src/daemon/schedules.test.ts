import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createManualClock, type ManualClock } from '@caisson/ground';
import { CaissonError } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';
import { readCronTimes } from '../config/index.ts';
import { createRecorder, openLedger, type Ledger } from '../ledger/index.ts';
import { DaemonStoppingError } from './errors.ts';
import { createSchedules, listSchedules, type Schedule, type Schedules } from './schedules.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const utc = (text: string): number => Date.parse(`${text}Z`);

/** A place for daemons: one ledger on disk, and what their schedules have started, by key, as dispatch does it. */
function makePlace() {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-schedules-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const started = new Map<string, string>();
  const marked: string[] = [];
  const open = (clock: ManualClock): { schedules: Schedules; ledger: Ledger } => {
    const ledger = openLedger(join(folder, 'ledger.db'));
    onTestFinished(() => ledger.close());
    const recorder = createRecorder({ ledger, clock });
    return { ledger, schedules: createSchedules({ clock, ledger, recorder, seed: 'place' }) };
  };
  const declare = async (changes: Partial<Schedule> = {}): Promise<Schedule> => {
    const { cron = '0 3 * * *', timezone = 'UTC' } = changes;
    return {
      name: 'nightly',
      cron,
      timezone,
      catchUp: 'skip',
      jitterMs: 0,
      what: 'Update the docs',
      times: await readCronTimes(cron, timezone),
      start({ key, slot, isCatchUp }) {
        if (!started.has(key)) started.set(key, `run_${started.size + 1}`);
        if (isCatchUp) marked.push(slot);
        return Promise.resolve({ runId: started.get(key) ?? '' });
      },
      ...changes,
    };
  };
  return { open, declare, started, marked };
}

/** Moves the time in the steps of the daemon's timer. */
async function pass(
  clock: ManualClock,
  schedules: Schedules,
  ms: number,
  stepMs = MINUTE / 2,
): Promise<void> {
  for (let done = 0; done < ms; done += stepMs) {
    clock.advance(stepMs);
    await schedules.fireDue();
  }
}

const slotsOf = (ledger: Ledger): string[] =>
  ledger.read({ runId: null, types: ['schedule.fired'] }).map(({ data }) => data.slot.slice(0, 19));

test('each slot is fired once, at its time, and is on record with its run', async () => {
  const { open, declare, started } = makePlace();
  const clock = createManualClock(utc('2026-05-01T02:00:00'));
  const { schedules, ledger } = open(clock);
  schedules.set([await declare()]);
  expect(schedules.list()).toEqual([
    {
      name: 'nightly',
      cron: '0 3 * * *',
      timezone: 'UTC',
      catchUp: 'skip',
      what: 'Update the docs',
      nextAt: '2026-05-01T03:00:00.000Z',
    },
  ]);
  await pass(clock, schedules, 26 * HOUR);
  expect([...started.keys()]).toEqual([
    'schedule:nightly:2026-05-01T03:00:00.000Z',
    'schedule:nightly:2026-05-02T03:00:00.000Z',
  ]);
  const events = ledger.read({ runId: null, types: ['schedule.fired'] });
  expect(events.map(({ id, data }) => [id, data])).toEqual(
    [1, 2].map((day) => [
      `schedule:nightly:2026-05-0${day}T03:00:00.000Z`,
      {
        schedule: 'nightly',
        slot: `2026-05-0${day}T03:00:00.000Z`,
        isCatchUp: false,
        startedRun: `run_${day}`,
      },
    ]),
  );
  expect(schedules.list()[0]).toMatchObject({
    nextAt: '2026-05-03T03:00:00.000Z',
    lastSlot: '2026-05-02T03:00:00.000Z',
    lastRunId: 'run_2',
  });
});

test('times that come faster than a daemon looks are all fired', async () => {
  const { open, declare, marked } = makePlace();
  const clock = createManualClock(utc('2026-05-01T02:00:00'));
  const { schedules, ledger } = open(clock);
  schedules.set([await declare({ cron: '* * * * * *' })]);
  await pass(clock, schedules, 2 * MINUTE, 2000);
  expect([slotsOf(ledger).length, slotsOf(ledger).at(-1)]).toEqual([120, '2026-05-01T02:02:00']);
  expect(marked).toEqual([]);
});

test('a time that the day does not have comes after the gap; one that comes twice is fired once', async () => {
  const { open, declare } = makePlace();
  const clock = createManualClock(utc('2026-03-28T20:00:00'));
  const { schedules, ledger } = open(clock);
  schedules.set([await declare({ cron: '30 2 * * *', timezone: 'Europe/Berlin' })]);
  await pass(clock, schedules, 30 * HOUR);
  expect(slotsOf(ledger)).toEqual(['2026-03-29T01:00:00', '2026-03-30T00:30:00']);
  clock.stepWall(utc('2026-10-24T20:00:00'));
  await schedules.fireDue();
  await pass(clock, schedules, 30 * HOUR);
  expect(slotsOf(ledger).slice(2)).toEqual(['2026-10-25T00:30:00', '2026-10-26T01:30:00']);
});

test.each([
  ['skip', [], []],
  ['latest', ['2026-05-04T03:00:00'], ['2026-05-04T03:00:00.000Z']],
] as const)('after a time without a daemon, %s', async (catchUp, slots, marks) => {
  const { open, declare, marked } = makePlace();
  const before = open(createManualClock(utc('2026-05-01T04:00:00')));
  before.schedules.set([await declare({ catchUp })]);
  const clock = createManualClock(utc('2026-05-04T12:00:00'));
  const { schedules, ledger } = open(clock);
  schedules.set([await declare({ catchUp })]);
  await schedules.fireDue();
  await pass(clock, schedules, HOUR);
  expect([slotsOf(ledger), marked]).toEqual([slots, marks]);
  expect(schedules.list()[0]?.lastIsCatchUp).toBe(catchUp === 'latest' ? true : undefined);
});

test.each([
  ['skip', []],
  ['latest', ['2026-05-03T03:00:00']],
] as const)(
  'a machine that slept, or a clock that was set forward, missed its slots: %s',
  async (catchUp, slots) => {
    const { open, declare } = makePlace();
    const clock = createManualClock(utc('2026-05-01T04:00:00'));
    const { schedules, ledger } = open(clock);
    schedules.set([await declare({ catchUp })]);
    clock.stepWall(utc('2026-05-03T09:00:00'));
    await schedules.fireDue();
    expect(slotsOf(ledger)).toEqual(slots);
    await pass(clock, schedules, 24 * HOUR);
    expect(slotsOf(ledger)).toEqual([...slots, '2026-05-04T03:00:00']);
  },
);

test('a clock that is set back repeats nothing, and one that was years ahead does not stop the schedule', async () => {
  const { open, declare, started } = makePlace();
  const clock = createManualClock(utc('2026-05-01T02:59:00'));
  const { schedules, ledger } = open(clock);
  schedules.set([await declare()]);
  await pass(clock, schedules, 2 * MINUTE);
  clock.stepWall(utc('2026-05-01T02:00:00'));
  await pass(clock, schedules, 2 * HOUR);
  expect([slotsOf(ledger), started.size]).toEqual([['2026-05-01T03:00:00'], 1]);
  clock.stepWall(utc('2030-01-01T02:59:50'));
  await pass(clock, schedules, 2 * MINUTE);
  clock.stepWall(utc('2026-05-02T02:00:00'));
  await pass(clock, schedules, 2 * HOUR);
  expect(slotsOf(ledger)).toEqual(['2026-05-01T03:00:00', '2030-01-01T03:00:00', '2026-05-02T03:00:00']);
});

test('two daemons at the same time start one run for a slot, and record it once', async () => {
  const { open, declare, started } = makePlace();
  const clocks = [
    createManualClock(utc('2026-05-01T02:59:50')),
    createManualClock(utc('2026-05-01T02:59:50')),
  ];
  const daemons = clocks.map(open);
  for (const { schedules } of daemons) schedules.set([await declare()]);
  for (const clock of clocks) clock.advance(MINUTE / 2);
  await Promise.all(daemons.map(({ schedules }) => schedules.fireDue()));
  expect(daemons.map(({ ledger }) => slotsOf(ledger))).toEqual([
    ['2026-05-01T03:00:00'],
    ['2026-05-01T03:00:00'],
  ]);
  expect(started.size).toBe(1);
});

test('a restart in the minute of a slot neither loses nor repeats it', async () => {
  const { open, declare, started } = makePlace();
  const first = open(createManualClock(utc('2026-05-01T02:59:59')));
  first.schedules.set([await declare()]);
  for (const second of ['03', '20', '40']) {
    const { schedules, ledger } = open(createManualClock(utc(`2026-05-01T03:00:${second}`)));
    schedules.set([await declare()]);
    await schedules.fireDue();
    expect(slotsOf(ledger)).toEqual(['2026-05-01T03:00:00']);
  }
  expect(started.size).toBe(1);
});

/** The queue is full. */
class QueueFullError extends CaissonError {
  readonly code = 'QUEUE_FULL';
}

test('what is refused is on record as the problem of its slot', async () => {
  const { open, declare } = makePlace();
  const clock = createManualClock(utc('2026-05-01T02:59:50'));
  const { schedules, ledger } = open(clock);
  const start = (): Promise<never> => Promise.reject(new QueueFullError('1000 runs wait'));
  schedules.set([await declare({ start })]);
  await pass(clock, schedules, MINUTE);
  expect(ledger.read({ runId: null, types: ['schedule.fired'] }).map(({ data }) => data)).toEqual([
    {
      schedule: 'nightly',
      slot: '2026-05-01T03:00:00.000Z',
      isCatchUp: false,
      problem: 'QUEUE_FULL: 1000 runs wait',
    },
  ]);
  expect(schedules.list()[0]?.lastProblem).toBe('QUEUE_FULL: 1000 runs wait');
});

test('a daemon that ends leaves the slot to the next one', async () => {
  const { open, declare } = makePlace();
  const clock = createManualClock(utc('2026-05-01T02:59:50'));
  const ending = open(clock);
  ending.schedules.set([await declare({ start: () => Promise.reject(new DaemonStoppingError()) })]);
  clock.advance(MINUTE / 2);
  await expect(ending.schedules.fireDue()).rejects.toThrow(DaemonStoppingError);
  const { schedules, ledger } = open(clock);
  schedules.set([await declare()]);
  await schedules.fireDue();
  expect(slotsOf(ledger)).toEqual(['2026-05-01T03:00:00']);
});

test('a changed schedule begins now, an unchanged one keeps its slots', async () => {
  const { open, declare } = makePlace();
  const clock = createManualClock(utc('2026-05-01T04:00:00'));
  const { schedules, ledger } = open(clock);
  schedules.set([await declare({ catchUp: 'latest' })]);
  clock.stepWall(utc('2026-05-02T04:00:00'));
  schedules.set([await declare({ catchUp: 'latest', cron: '0 2 * * *' })]);
  await schedules.fireDue();
  expect(slotsOf(ledger)).toEqual([]);
  clock.stepWall(utc('2026-05-03T04:00:00'));
  schedules.set([await declare({ catchUp: 'latest', cron: '0 2 * * *' })]);
  await schedules.fireDue();
  expect(slotsOf(ledger)).toEqual(['2026-05-03T02:00:00']);
});

test('a schedule that was removed and is declared again makes up for nothing, whichever daemon removed it', async () => {
  const { open, declare } = makePlace();
  const clock = createManualClock(utc('2026-05-01T04:00:00'));
  const { schedules, ledger } = open(clock);
  const declared = await declare({ catchUp: 'latest' });
  schedules.set([declared]);
  schedules.set([]);
  clock.stepWall(utc('2026-05-03T04:00:00'));
  schedules.set([declared]);
  await schedules.fireDue();
  const next = open(clock);
  next.schedules.set([]);
  clock.stepWall(utc('2026-05-05T04:00:00'));
  const last = open(clock);
  last.schedules.set([declared]);
  await last.schedules.fireDue();
  expect(slotsOf(ledger)).toEqual([]);
});

test('a schedule that is removed while it starts a task is forgotten', async () => {
  const { open, declare } = makePlace();
  const clock = createManualClock(utc('2026-05-01T03:00:00') - 1000);
  const { schedules, ledger } = open(clock);
  const start = (): Promise<{ runId: string }> => {
    schedules.set([]);
    return Promise.resolve({ runId: 'run_1' });
  };
  schedules.set([await declare({ catchUp: 'latest', start })]);
  clock.advance(2000);
  await schedules.fireDue();
  clock.stepWall(utc('2026-05-03T04:00:00'));
  schedules.set([await declare({ catchUp: 'latest' })]);
  await schedules.fireDue();
  expect(slotsOf(ledger)).toEqual(['2026-05-01T03:00:00']);
});

test('a jitter moves a slot by less than itself, by the same for every daemon', async () => {
  const { open, declare } = makePlace();
  const clock = createManualClock(utc('2026-05-01T00:00:00'));
  const one = open(clock);
  one.schedules.set([await declare({ jitterMs: HOUR })]);
  const other = open(clock);
  other.schedules.set([await declare({ jitterMs: HOUR })]);
  const nextAt = one.schedules.list()[0]?.nextAt ?? '';
  expect(other.schedules.list()[0]?.nextAt).toBe(nextAt);
  const later = Date.parse(nextAt) - utc('2026-05-01T03:00:00');
  expect([later > 0, later < HOUR]).toEqual([true, true]);
  clock.stepWall(Date.parse(nextAt) - 1000);
  await one.schedules.fireDue();
  expect(slotsOf(one.ledger)).toEqual([]);
  clock.stepWall(Date.parse(nextAt) + 1000);
  await one.schedules.fireDue();
  expect(slotsOf(one.ledger)).toEqual(['2026-05-01T03:00:00']);
});

test('of slots that were missed the newest is made up for, also when the next one waits for its jitter', async () => {
  const { open, declare, started, marked } = makePlace();
  const clock = createManualClock(utc('2026-05-01T12:00:00'));
  const latest = await declare({ jitterMs: HOUR, catchUp: 'latest' });
  open(clock).schedules.set([latest]);
  clock.stepWall(utc('2026-05-11T03:00:05'));
  const { schedules, ledger } = open(clock);
  schedules.set([latest]);
  await pass(clock, schedules, 2 * HOUR);
  expect(marked).toEqual(['2026-05-10T03:00:00.000Z']);
  expect(started.size).toBe(2);
  expect(slotsOf(ledger)).toEqual(['2026-05-10T03:00:00', '2026-05-11T03:00:00']);
});

test('without a daemon the next times and the last runs are known', async () => {
  const { open, declare } = makePlace();
  const clock = createManualClock(utc('2026-05-01T02:59:50'));
  const { schedules, ledger } = open(clock);
  const schedule = await declare();
  schedules.set([schedule]);
  await pass(clock, schedules, MINUTE);
  expect(listSchedules({ ledger, clock }, [schedule])).toEqual(schedules.list());
});
