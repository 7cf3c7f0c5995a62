import { PassThrough } from 'node:stream';
import { createManualClock } from '@caisson/ground';
import { encodeNdjson, WORKER_SCHEMA } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { SAMPLE_DATA, SAMPLE_GRANT } from '../../../protocol/src/fixtures/sample-events.ts';
import type { SupervisionOptions } from './contract.ts';
import { supervise } from './supervise.ts';

const runId = 'run_00000000000000000001';
const at = '2026-01-01T00:00:00.000Z';
const denial = { what: 'x', actionClass: 'network' };
const NETWORK = [
  { kind: 'network.connection', ...SAMPLE_DATA['network.connection'] },
  { kind: 'model.called', ...SAMPLE_DATA['model.called'] },
  { kind: 'policy.denied', denial: { ...denial, layer: 'network' } },
];

/** Says one line every 400 ms, for 2 s; the stall timeout is 1 s. */
async function superviseSaying(lines: readonly object[]) {
  const clock = createManualClock();
  const stdout = new PassThrough();
  const said: string[] = [];
  const exited = Promise.withResolvers<{ code: number | null; signal: string | null }>();
  const nothing = (): void => undefined;
  const supervision = supervise({
    worker: {
      ...{ stdout, control: new PassThrough(), exited: exited.promise, kill: nothing, stderrTail: () => '' },
      handle: { pid: process.pid, startTime: '0' },
    },
    compute: { stop: () => Promise.resolve([]) },
    ...{ clock, isEnclosed: true, usesModel: true, wallMs: 60_000, graceMs: 0, heartbeatMs: 60_000 },
    ...{
      stallTimeoutMs: 1000,
      canRecord: () => true,
      findTakeover: () => null,
      countBeat: nothing,
      isModelFailing: () => false,
    },
    ...{
      onHeader: () => null,
      onReady: nothing,
      onMalformed: (bad: unknown) => said.push(JSON.stringify(bad)),
    },
    ...{ onHealth: nothing, onStalled: nothing, onLine: ({ kind }: { kind: string }) => said.push(kind) },
  } as unknown as SupervisionOptions);
  stdout.write(encodeNdjson({ schema: WORKER_SCHEMA, runId, attempt: 1, grant: SAMPLE_GRANT }));
  for (let seq = 1; seq <= 5; seq += 1) {
    clock.advance(400);
    stdout.write(encodeNdjson({ ...lines[seq % lines.length], seq, at }));
    await expect.poll(() => said.length).toBe(seq);
  }
  stdout.end();
  exited.resolve({ code: 0, signal: null });
  return { end: await supervision.ended, said };
}

test('what the network reports is no progress of the agent', async () => {
  const { end, said } = await superviseSaying(NETWORK);
  expect(new Set(said)).toEqual(new Set(NETWORK.map(({ kind }) => kind)));
  expect(end.stopped).toMatchObject({ reason: 'stalled' });
});

test('a denial of another layer is progress: the agent did something', async () => {
  const { end } = await superviseSaying([{ kind: 'policy.denied', denial: { ...denial, layer: 'gate' } }]);
  expect(end.stopped).toBeNull();
});
