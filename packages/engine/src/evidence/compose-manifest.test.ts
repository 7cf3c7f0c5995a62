import { expect, onTestFinished, test } from 'vitest';
import { createMemoryLedger, createRecorder, type StoredEvent } from '../ledger/index.ts';
import { systemClock } from '@caisson/ground';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import { composeManifest, type SealingHost } from './compose-manifest.ts';
import { SealRefusedError } from './errors.ts';
import { encodeManifest } from './manifest.ts';

const RUN = 'run_0123456789abcdefghjk';
const DIGEST = 'd'.repeat(64);

const host: SealingHost = {
  version: '1.2.3',
  ceiling: 'auto-edit',
  digestProgram: (program, state) =>
    Promise.resolve(program === '/bin/agent' && state === 'as it was' ? DIGEST : null),
};

async function recordRun(attempts: readonly Record<string, unknown>[]): Promise<readonly StoredEvent[]> {
  const ledger = createMemoryLedger();
  onTestFinished(() => ledger.close());
  const record = createRecorder({ ledger, clock: systemClock }).of(RUN);
  await record.append(
    'dispatch.accepted',
    {
      ...SAMPLE_DATA['dispatch.accepted'],
      runtimeInfo: { version: '9', bin: '/bin/agent', adapter: null },
      inputs: [{ key: 'spec', sha256: DIGEST, isStored: true }],
      envNames: ['HOME'],
    },
    { attempt: 0 },
  );
  for (const [index, workspace] of attempts.entries())
    await record.append(
      'attempt.launched',
      { handle: {}, nonce: 'n', workspace, program: 'as it was' },
      { attempt: index + 1 },
    );
  return ledger.read({ runId: RUN });
}

test('a manifest names what the acceptance named, the program, and the base of the last attempt', async () => {
  const events = await recordRun([
    { baseCommit: 'a', baselineTree: 'b' },
    { baseCommit: 'c', baselineTree: 'd', path: '/somewhere' },
  ]);
  const manifest = await composeManifest(host, RUN, events);
  expect(manifest).toMatchObject({
    runId: RUN,
    base: { commit: 'c', baselineTree: 'd' },
    inputs: [{ key: 'spec', sha256: DIGEST }],
    env: { bundles: [], names: ['HOME'] },
    policy: { grant: SAMPLE_DATA['dispatch.accepted'].grant, ceiling: 'auto-edit' },
    runtime: { name: 'native', version: '9', binary: DIGEST },
    host: { caisson: '1.2.3' },
  });
  expect(() => encodeManifest(manifest)).not.toThrow();
});

test('a run that ended before its first attempt has no base, and no program was started', async () => {
  const manifest = await composeManifest(host, RUN, await recordRun([]));
  expect(manifest.base).toEqual({ commit: null, baselineTree: null });
  expect(manifest.runtime.binary).toBeNull();
});

test('a run whose first event is not its acceptance is refused', async () => {
  const [, ...rest] = await recordRun([{}]);
  await expect(composeManifest(host, RUN, rest)).rejects.toThrow(SealRefusedError);
});
