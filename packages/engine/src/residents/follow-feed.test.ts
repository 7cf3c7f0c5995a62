import { createManualClock } from '@caisson/ground';
import { expect, test } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import { createFeed, createMemoryLedger, createRecorder, type EventFeed } from '../ledger/index.ts';
import { createEventWatch } from './event-watch.ts';
import { settle } from './fixtures/open-runtime.ts';
import { followRunEndings } from './run-endings.ts';

const RUN = 'run_00000000000000000001';

/** A feed whose reads fail until the test lets them work. */
function openPlace() {
  const clock = createManualClock();
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock });
  const real = createFeed({ ledger, recorder, clock });
  const broken = { is: true };
  const feed: Pick<EventFeed, 'read'> = {
    read(query) {
      if (broken.is) throw new Error('the disk is away');
      return real.read(query);
    },
  };
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settle();
  };
  const endRun = async (): Promise<void> => {
    const record = recorder.of(RUN);
    await record.append('dispatch.accepted', SAMPLE_DATA['dispatch.accepted'], { attempt: 0 });
    await record.append('dispatch.finished', SAMPLE_DATA['dispatch.finished'], { attempt: 1 });
  };
  return { clock, ledger, feed, broken, real, advance, endRun };
}

test('endings that happen while the feed fails reach threads when it works again, and one warning is enough', async () => {
  const { clock, ledger, feed, broken, real, advance, endRun } = openPlace();
  const failures: string[] = [];
  const watch = createEventWatch({ clock, ledger, feed }, ({ message }) => void failures.push(message));
  const ended = Promise.withResolvers<void>();
  watch.once(RUN, () => ended.resolve());
  await endRun();
  await advance(1000);
  await advance(1000);
  expect(failures).toEqual(['the disk is away']);
  broken.is = false;
  await advance(1000);
  await ended.promise;
  watch.stop();
  real.stop();
});

test('endings that happen while the feed fails start senses when it works again', async () => {
  const { clock, ledger, feed, broken, real, advance, endRun } = openPlace();
  const warnings: string[] = [];
  const ended = Promise.withResolvers<unknown>();
  const stop = followRunEndings({
    ...{ clock, ledger, feed, warn: (message: string) => void warnings.push(message) },
    onEnded: async (run) => ended.resolve(run),
  });
  await endRun();
  await advance(1000);
  broken.is = false;
  await advance(1000);
  expect(await ended.promise).toMatchObject({ runId: RUN, status: 'done' });
  expect(warnings).toEqual(['endings of runs wait to start senses: the disk is away']);
  stop();
  real.stop();
});

test('an ending that cannot be delivered now is delivered later, with one warning', async () => {
  const { clock, ledger, broken, feed, real, advance, endRun } = openPlace();
  broken.is = false;
  const warnings: string[] = [];
  const outage = { left: 2 };
  const ended = Promise.withResolvers<unknown>();
  const stop = followRunEndings({
    ...{ clock, ledger, feed, warn: (message: string) => void warnings.push(message) },
    onEnded(run) {
      if (outage.left-- > 0) throw new Error('the ledger cannot be read');
      return Promise.resolve(run).then(ended.resolve);
    },
  });
  await endRun();
  for (const ms of [0, 1000, 2000]) await advance(ms);
  expect(await ended.promise).toMatchObject({ runId: RUN, status: 'done' });
  expect(warnings).toEqual([`the ending of ${RUN} is delivered later: the ledger cannot be read`]);
  stop();
  real.stop();
});
