import { systemClock, type Clock } from '@caisson/ground';
import { expect, test } from 'vitest';
import { createMemoryLedger, createRecorder, LedgerBusyError, type HeardEvent } from '../ledger/index.ts';
import { stopRun, type ActiveRun } from './active-run.ts';
import { RunUnsettledError } from './errors.ts';
import { untilSettled } from './until-settled.ts';

const RUN = 'run_00000000000000000001';
const busy = () => new LedgerBusyError('ledger.db');

/** Pauses are over at once, unless they are held; the last try's limit is never reached. */
function open({ holdsPauses = false } = {}) {
  const clock: Clock = {
    ...systemClock,
    setTimer: (ms, done) => {
      if (!holdsPauses && ms !== 5000) setImmediate(done);
      return () => undefined;
    },
  };
  const recorder = createRecorder({ ledger: createMemoryLedger(), clock });
  const heard: HeardEvent[] = [];
  recorder.listen((event) => heard.push(event));
  const entry = {
    run: { runId: RUN },
    record: recorder.of(RUN),
    abort: new AbortController(),
    closing: new AbortController().signal,
    leave: new AbortController(),
    followed: null,
  } as unknown as ActiveRun;
  return { clock, entry, heard };
}

test('a ledger that is locked is waited for, and everybody hears why', async () => {
  const { clock, entry, heard } = open();
  let tries = 0;
  const settled = await untilSettled({ clock }, entry, 1, () => {
    tries += 1;
    return tries < 9 ? Promise.reject(busy()) : Promise.resolve('whole');
  });
  expect(settled).toBe('whole');
  expect(heard).toHaveLength(8);
  expect(heard[0]).toMatchObject({ type: 'settle.waiting', attempt: 1 });
});

test('a disk that fails beside the ledger is tried six times, and then does not hold the ending up', async () => {
  const { clock, entry } = open();
  const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  let tries = 0;
  const settled = await untilSettled({ clock }, entry, 1, (mayPass) => {
    tries += 1;
    return mayPass(full) ? Promise.reject(full) : Promise.resolve('without a checkpoint');
  });
  expect([settled, tries]).toEqual(['without a checkpoint', 7]);
});

test('what cannot pass is not tried again', async () => {
  const { clock, entry } = open();
  const work = () => Promise.reject(new TypeError('a bug'));
  await expect(untilSettled({ clock }, entry, 1, work)).rejects.toThrow('a bug');
});

test('a host that is forced to leave while it waits leaves the run to the next command', async () => {
  const { clock, entry, heard } = open({ holdsPauses: true });
  const settled = untilSettled({ clock }, entry, 1, () => Promise.reject(busy()));
  await expect.poll(() => heard).toHaveLength(1);
  stopRun(entry, { force: true });
  await expect(settled).rejects.toThrow(RunUnsettledError);
});

test('a settle that is under way when the host is forced to leave is finished', async () => {
  const { clock, entry } = open();
  const work = Promise.withResolvers<string>();
  const settled = untilSettled({ clock }, entry, 1, () => work.promise);
  stopRun(entry, { force: true });
  setImmediate(() => work.resolve('whole'));
  expect(await settled).toBe('whole');
});
