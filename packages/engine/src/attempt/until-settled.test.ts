import { systemClock, type Clock } from '@caisson/ground';
import { expect, test } from 'vitest';
import { createMemoryLedger, createRecorder, LedgerBusyError, type PublishedEvent } from '../ledger/index.ts';
import { stopRun, type ActiveRun } from './active-run.ts';
import type { DispatchSettings } from '../admission/rooms.ts';
import { RunUnsettledError } from '../admission/errors.ts';
import { untilSettled } from './until-settled.ts';

const RUN = 'run_00000000000000000001';
const busy = () => new LedgerBusyError('ledger.db');

/** Pauses are over at once, unless they are held, and so is what `isOver`; no other limit of a try is ever reached. */
function open({ holdsPauses = false, isOver = 0, isClosing = false } = {}) {
  const clock: Clock = {
    ...systemClock,
    setTimer: (ms, done) => {
      const isLimit = ms === 5000 || ms === 30_000;
      if (isLimit ? ms === isOver : !holdsPauses) setImmediate(done);
      return () => undefined;
    },
  };
  const closing = new AbortController();
  if (isClosing) closing.abort();
  const recorder = createRecorder({ ledger: createMemoryLedger(), clock });
  const received: PublishedEvent[] = [];
  recorder.listen((event) => received.push(event));
  const entry = {
    run: { runId: RUN },
    record: recorder.of(RUN),
    abort: new AbortController(),
    closing: closing.signal,
    leave: new AbortController(),
    isSettling: false,
    delivered: Promise.resolve(),
    forced: new AbortController(),
    followed: null,
  } as unknown as ActiveRun;
  const settings = { stateDir: '/nowhere' } as DispatchSettings;
  return { rooms: { clock, settings, freeReserve: () => false }, entry, received };
}

test('a ledger that is locked is waited for, and every listener learns why', async () => {
  const { rooms, entry, received } = open();
  let tries = 0;
  const settled = await untilSettled(rooms, entry, 1, () => {
    tries += 1;
    return tries < 9 ? Promise.reject(busy()) : Promise.resolve('whole');
  });
  expect(settled).toBe('whole');
  expect(received).toHaveLength(8);
  expect(received[0]).toMatchObject({ type: 'settle.waiting', attempt: 1 });
});

test('a disk that fails beside the ledger is tried six times, and then does not hold the ending up', async () => {
  const { rooms, entry } = open();
  const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  let tries = 0;
  const settled = await untilSettled(rooms, entry, 1, (mayPass) => {
    tries += 1;
    return mayPass(full) ? Promise.reject(full) : Promise.resolve('without a checkpoint');
  });
  expect([settled, tries]).toEqual(['without a checkpoint', 7]);
});

test('what cannot pass is not tried again', async () => {
  const { rooms, entry } = open();
  const work = () => Promise.reject(new TypeError('a bug'));
  await expect(untilSettled(rooms, entry, 1, work)).rejects.toThrow('a bug');
});

test('a host that is forced to leave while it waits leaves the run to the next command', async () => {
  const { rooms, entry, received } = open({ holdsPauses: true });
  const settled = untilSettled(rooms, entry, 1, () => Promise.reject(busy()));
  await expect.poll(() => received).toHaveLength(1);
  stopRun(entry, { force: true });
  await expect(settled).rejects.toThrow(RunUnsettledError);
});

test('a settle that is under way when the host is forced to leave is finished', async () => {
  const { rooms, entry } = open();
  const work = Promise.withResolvers<string>();
  const settled = untilSettled(rooms, entry, 1, () => work.promise);
  stopRun(entry, { force: true });
  setImmediate(() => work.resolve('whole'));
  expect(await settled).toBe('whole');
});

test('a forced stop before settling began leaves it all its tries', async () => {
  const { rooms, entry } = open();
  stopRun(entry, { force: true });
  let tries = 0;
  const work = () => ((tries += 1) < 3 ? Promise.reject(busy()) : Promise.resolve('whole'));
  expect(await untilSettled(rooms, entry, 1, work)).toBe('whole');
});

test('a host that was forced to leave does not begin to wait again', async () => {
  const { rooms, entry, received } = open({ holdsPauses: true });
  const settled = untilSettled(rooms, entry, 1, () => Promise.reject(busy()));
  await expect.poll(() => received).toHaveLength(1);
  stopRun(entry, { force: true });
  await expect(settled).rejects.toThrow(RunUnsettledError);
  const after = untilSettled(rooms, entry, 0, () => Promise.reject(busy()));
  await expect(after).rejects.toThrow(RunUnsettledError);
  expect(received).toHaveLength(1);
});

test('a try that begins after the shutdown has a limit, too', async () => {
  const { rooms, entry } = open({ isOver: 30_000, isClosing: true });
  const settled = untilSettled(rooms, entry, 1, () => new Promise(() => undefined));
  await expect(settled).rejects.toThrow(RunUnsettledError);
});
