import { systemClock } from '@caisson/ground';
import { expect, test, vi } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import { createMemoryLedger, createRecorder, type StoredEvent } from '../ledger/index.ts';
import { createLiveStates } from './live-states.ts';

const RUN = 'run_00000000000000000001';

/** A run of another host that this one adopts; its record is read when `release` is called. */
async function stage() {
  const ledger = createMemoryLedger();
  const earlier = createRecorder({ ledger, clock: systemClock }).of(RUN);
  await earlier.append('dispatch.accepted', SAMPLE_DATA['dispatch.accepted'], { attempt: 0 });
  await earlier.append('tool.started', call('a'), { attempt: 1 });
  const asked: PromiseWithResolvers<void>[] = [];
  const live = createLiveStates(async (runId): Promise<StoredEvent[]> => {
    const wait = Promise.withResolvers<void>();
    asked.push(wait);
    await wait.promise;
    return await ledger.readRun(runId);
  });
  const recorder = createRecorder({ ledger, clock: systemClock });
  recorder.listen((event) => live.receive(event));
  return { record: recorder.of(RUN), live, asked };
}

const call = (callId: string) => ({ callId, tool: 'bash', what: 'npm test' });

test('an adopted run is known once its record is read, and what came meanwhile counts once', async () => {
  const { record, live, asked } = await stage();
  await record.append('run.adopted', SAMPLE_DATA['run.adopted'], { attempt: 1 });
  await record.append('tool.started', call('b'), { attempt: 1 });
  record.publish('worker.progress', { phase: 'agent', turns: 7 }, 1);
  expect(live.read(RUN)).toBeNull();
  asked[0]?.resolve();
  await vi.waitUntil(() => live.read(RUN) !== null);
  await record.append('tool.started', call('c'), { attempt: 1 });
  expect(live.read(RUN)).toMatchObject({ toolCalls: 3, turns: 7, source: 'host' });
});

test('a run that ended, or whose record could not be read, is not known', async () => {
  const { record, live, asked } = await stage();
  await record.append('run.adopted', SAMPLE_DATA['run.adopted'], { attempt: 1 });
  asked[0]?.reject(new Error('the disk is gone'));
  await record.append('tool.started', call('b'), { attempt: 1 });
  expect(live.read(RUN)).toBeNull();
  await record.append('run.adopted', { ...SAMPLE_DATA['run.adopted'], epoch: 3 }, { attempt: 1 });
  await record.append('dispatch.failed', SAMPLE_DATA['dispatch.failed'], { attempt: 1 });
  asked[1]?.resolve();
  await new Promise(setImmediate);
  expect(live.read(RUN)).toBeNull();
});
