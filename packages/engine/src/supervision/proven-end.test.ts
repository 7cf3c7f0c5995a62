import { PassThrough } from 'node:stream';
import { createManualClock } from '@caisson/ground';
import { encodeNdjson, WORKER_SCHEMA } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { SAMPLE_GRANT } from '../../../protocol/src/fixtures/sample-events.ts';
import type { SupervisionOptions } from './contract.ts';
import { supervise } from './supervise.ts';

const runId = 'run_00000000000000000001';
const at = '2026-01-01T00:00:00.000Z';

/** The end of a worker that reported its ending and exited with this code; null for one of another host. */
async function endWith(code: number | null) {
  const stdout = new PassThrough();
  const stopped: unknown[] = [];
  const nothing = (): void => undefined;
  const { ended } = supervise({
    worker: {
      ...{ stdout, control: new PassThrough(), kill: nothing, stderrTail: () => '' },
      exited: Promise.resolve({ code, signal: null }),
      handle: { pid: process.pid, startTime: '0' },
    },
    compute: { stop: (_handle: unknown, how: unknown) => Promise.resolve(stopped.push(how)).then(() => []) },
    ...{ clock: createManualClock(), isEnclosed: true, usesModel: false, wallMs: 60_000, graceMs: 0 },
    ...{ heartbeatMs: 60_000, stallTimeoutMs: null, canRecord: () => true, findTakeover: () => null },
    ...{ isModelFailing: () => false, onHeader: () => null, onReady: nothing, onMalformed: nothing },
    ...{ onHealth: nothing, onStalled: nothing, onLine: nothing },
  } as unknown as SupervisionOptions);
  const failure = { reason: 'worker-failed', detail: 'x' };
  stdout.write(encodeNdjson({ schema: WORKER_SCHEMA, runId, attempt: 1, grant: SAMPLE_GRANT }));
  stdout.end(encodeNdjson({ kind: 'dispatch.failed', seq: 1, at, durationMs: 1, failure }));
  const { isProvenGone, lastWord } = await ended;
  expect(lastWord?.kind).toBe('dispatch.failed');
  return { isProvenGone, stopped };
}

test.each([
  ['0, its attempt is done', 0, true],
  ['1, its attempt failed', 1, true],
  ['70, after an error that nobody caught', 70, false],
  ['75, its host was gone', 75, false],
  ['another one of Node', 13, false],
  ['one that is not known, as it was adopted', null, false],
])('what the exit of a worker proves: code %s', async (_what, code, isProvenGone) => {
  expect(await endWith(code)).toEqual({ isProvenGone, stopped: [{ isProvenGone }] });
});
