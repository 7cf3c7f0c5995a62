import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';
import { encodeNdjson, WORKER_SCHEMA } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';
import { SAMPLE_DATA, SAMPLE_GRANT } from '../../../protocol/src/fixtures/sample-events.ts';
import { costOf } from '../budget/index.ts';
import { createMemoryLedger, createRecorder } from '../ledger/index.ts';
import { createWorkRecord } from './work-record.ts';
import { keepLeftLines, passOn } from './worker-lines.ts';

const ATTEMPT = { runId: 'run_00000000000000000001', attempt: 1 };
const at = '2026-01-01T00:00:00.000Z';
const denial = { layer: 'gate', what: 'rm -rf /' } as const;

const KNOWN = { model: 'some-model', cost: costOf };

function open() {
  const ledger = createMemoryLedger();
  const record = createRecorder({ ledger, clock: systemClock }).of(ATTEMPT.runId);
  const folder = mkdtempSync(join(tmpdir(), 'caisson-lines-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'events.ndjson');
  const write = (...lines: object[]): void => {
    const header = { schema: WORKER_SCHEMA, ...ATTEMPT, grant: SAMPLE_GRANT };
    writeFileSync(file, [header, ...lines].map(encodeNdjson).join(''));
  };
  return { ledger, record, file, write };
}

test('only the declared fields of a line are recorded, at any depth', async () => {
  const { ledger, record, file, write } = open();
  write(
    { kind: 'policy.denied', seq: 1, at, colour: 'red', denial: { ...denial, colour: 'red' } },
    { kind: 'policy.denied', seq: 2, at, denial: { layer: 'moon', what: 'x' } },
    { kind: 'painted', seq: 3, at, colour: 'red' },
  );
  await keepLeftLines(record, ATTEMPT, file, ledger.read(), KNOWN);
  await record.flush();
  expect(ledger.read().map(({ type, data }) => ({ type, data }))).toEqual([
    { type: 'policy.denied', data: { denial } },
  ]);
});

test('a line that was recorded as it came is not recorded again from the file', async () => {
  const { ledger, record, file, write } = open();
  const line = { kind: 'warning', seq: 1, at, source: 'agent', message: 'odd' } as const;
  passOn(record, createWorkRecord(record, ATTEMPT), ATTEMPT, line, { cost: costOf });
  write(line, { ...line, seq: 2 });
  await keepLeftLines(record, ATTEMPT, file, ledger.read(), KNOWN);
  await record.flush();
  expect(ledger.read().map(({ id }) => id)).toEqual([1, 2].map((seq) => `line:${ATTEMPT.runId}.1.${seq}`));
});

test('a worker that wrote no line leaves nothing to record', async () => {
  const { ledger, record, file } = open();
  await keepLeftLines(record, ATTEMPT, `${file}.none`, [], KNOWN);
  expect(ledger.read()).toEqual([]);
});

test('of the work of an attempt 2,000 events are recorded, 500 of them for the calls of the model, and the rest is counted, also after a host died', async () => {
  const { ledger, record, file, write } = open();
  const lines = Array.from({ length: 2003 }, (_, index) => {
    return { kind: 'agent.said', seq: index + 1, at, text: String(index) } as const;
  });
  write(...lines);
  const work = createWorkRecord(record, ATTEMPT);
  for (const line of lines.slice(0, 1502)) passOn(record, work, ATTEMPT, line, { cost: costOf });
  for (let calls = 0; calls < 499; calls += 1) work.keep('model.called', SAMPLE_DATA['model.called']);
  await record.flush();
  for (let times = 0; times < 2; times += 1) {
    await keepLeftLines(record, ATTEMPT, file, ledger.read(), KNOWN);
    await record.flush();
    const kept = ledger.read();
    expect(kept.filter(({ type }) => type !== 'work.gap').length).toBe(1999);
    expect(kept.filter(({ type }) => type === 'work.gap').map(({ data }) => data)).toEqual([
      { count: 503, types: { 'agent.said': 503 } },
    ]);
  }
});

test('what an agent said of its own use is known where no answer of its model passes through us', async () => {
  const { ledger, record, file, write } = open();
  const line = { kind: 'progress', phase: 'agent', at };
  write(
    { ...line, seq: 1, tokensIn: 5, tokensOut: 1, turns: 1 },
    { ...line, seq: 2, tokensIn: 9, tokensOut: 2, turns: 2 },
    { ...line, seq: 3, turns: 3 },
  );
  const left = await keepLeftLines(record, ATTEMPT, file, ledger.read(), KNOWN);
  expect(left).toMatchObject({
    seen: null,
    reported: { models: ['some-model'], inputTokens: 9, outputTokens: 2 },
    turns: 3,
  });
});
