import { afterEach, beforeEach, expect, it } from 'vitest';
import { createAttemptFixture, type AttemptFixture } from './coordination/attempt-fixture.ts';
import { runPayload, type PayloadParts } from './payload.ts';
import { fail } from './attempt/step-failure.ts';
import { StoppedError } from './attempt/stop-order.ts';

let fixture: AttemptFixture;
beforeEach(() => {
  fixture = createAttemptFixture();
});
afterEach(() => fixture.remove());

const breaks = (what: string) => () => {
  throw new Error(what);
};
const SOUND: PayloadParts = { openChannel: () => () => undefined, runPipeline: () => Promise.resolve() };

it('a channel that cannot be closed is a failure of step 12', async () => {
  const failed = await runPayload(fixture.context, {
    ...SOUND,
    openChannel: () => breaks('the disk is gone'),
  });
  expect(failed?.failure).toEqual({ reason: 'worker-failed', detail: 'the disk is gone', step: 12 });
});

it('a channel that cannot be opened is a failure of step 10, and nothing runs', async () => {
  let hasRun = false;
  const payload = runPayload(fixture.context, {
    openChannel: breaks('no room'),
    runPipeline: () => {
      hasRun = true;
      return Promise.resolve();
    },
  });
  await expect(payload).rejects.toMatchObject({ failure: { reason: 'worker-failed', step: 10 } });
  expect(hasRun).toBe(false);
});

it('a failed agent is reported before a channel that cannot be closed', async () => {
  const failed = await runPayload(fixture.context, {
    openChannel: () => breaks('later'),
    runPipeline: () => Promise.reject(fail('provider-failed', 'it exited with 3', { cause: 'exit-code' })),
  });
  expect(failed?.failure).toMatchObject({ reason: 'provider-failed', cause: 'exit-code', step: 11 });
});

it('an order to stop closes the channel and is no failure', async () => {
  let isClosed = false;
  const payload = runPayload(fixture.context, {
    openChannel: () => () => {
      isClosed = true;
    },
    runPipeline: () => Promise.reject(new StoppedError({ kind: 'host-lost' })),
  });
  await expect(payload).rejects.toBeInstanceOf(StoppedError);
  expect(isClosed).toBe(true);
});
