/**
 * A ledger that the version before typed events wrote, with its store: one run that is done, one that failed, one that
 * waits for an answer. `state-2442aaf.tar.gz` was made by that build and is never made anew.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createStamp, systemClock } from '@caisson/ground';
import { parseEnvelope, toEnvelope, toWire } from '@caisson/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { formatEvent } from '../../packages/cli/src/format-event.ts';
import { formatRun } from '../../packages/cli/src/format-run.ts';
import { render, STYLE } from '../../packages/cli/src/painted.ts';
import { describeRun } from '../../packages/engine/src/dispatch/index.ts';
import { parsePublicKey, verifyRun } from '../../packages/engine/src/evidence/index.ts';
import { createRecorder, openLedger } from '../../packages/engine/src/ledger/index.ts';
import { createWorkspaces } from '../../packages/engine/src/workspace/index.ts';
import { openLocalStore } from '../../packages/engine/src/store/index.ts';
import { SAMPLE_DATA } from '../../packages/protocol/src/fixtures/sample-events.ts';

const PACKED = fileURLToPath(new URL('../vectors/old-state/state-2442aaf.tar.gz', import.meta.url));

function unpack() {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-old-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync('tar', ['-xzf', PACKED, '-C', folder]);
  const ledger = openLedger(join(folder, 'ledger.db'));
  onTestFinished(() => ledger.close());
  const key = parsePublicKey(readFileSync(join(folder, 'key.pub'), 'utf8'), 'key.pub');
  const workspaces = createWorkspaces({ home: folder, stamp: createStamp(Buffer.from('a secret')) });
  return { ledger, store: openLocalStore(join(folder, 'store')), workspaces, key };
}

it('is opened and verified, and each of its events is one that this version knows', async () => {
  const { ledger, store, key } = unpack();
  expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [], runs: 3 });
  expect(ledger.runs().map(({ status }) => status)).toEqual(['done', 'error', 'waiting']);
  expect(ledger.read().filter((event) => event.type === 'unknown')).toEqual([]);
  for (const { runId } of ledger.runs()) {
    const { outcome, checks } = await verifyRun(ledger, store, runId, { trustedKeys: [key] });
    expect(outcome, JSON.stringify(checks)).toBe('ok');
  }
});

it('is shown', async () => {
  const { key: _key, ...rooms } = unpack();
  const { ledger } = rooms;
  for (const { runId } of ledger.runs()) {
    const events = ledger.read({ runId }).map(toEnvelope);
    for (const event of events)
      expect(parseEnvelope(JSON.parse(JSON.stringify(toWire(event))))).toEqual(event);
    const lines = [
      ...events.flatMap((event) => formatEvent(event, STYLE)),
      ...formatRun(await describeRun(rooms, runId), events, { style: STYLE, columns: 80 }),
    ].map((line) => render(line, false));
    expect(lines.join('\n')).toMatch(/dispatch\.accepted +sh -c /);
  }
  const [done] = ledger.runs();
  expect(await describeRun(rooms, done?.runId ?? '')).toMatchObject({
    status: 'done',
    reply: 'hello',
    result: { verify: { passed: true } },
  });
});

it('is continued', async () => {
  const { ledger } = unpack();
  const [question] = ledger.questions({ status: 'open' });
  const asked = ledger.runs({ status: 'waiting' })[0]?.runId ?? '';
  const recorder = createRecorder({ ledger, clock: systemClock });
  const next = 'run_00000000000000000001';
  await recorder
    .of(next)
    .append('dispatch.accepted', { ...SAMPLE_DATA['dispatch.accepted'], continues: asked }, { attempt: 0 });
  const answer = { questionId: question?.questionId ?? '', answer: 'blue', continuedBy: next };
  await recorder.of(asked).append('question.answered', answer, { attempt: 0 });
  await recorder.of(next).append('dispatch.finished', SAMPLE_DATA['dispatch.finished'], { attempt: 0 });
  expect(ledger.run(asked)).toMatchObject({ status: 'answered', continuedBy: next });
  expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [], runs: 4 });
  ledger.rebuildProjections();
  expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
});
