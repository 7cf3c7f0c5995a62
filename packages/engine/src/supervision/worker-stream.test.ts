import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { WORKER_SCHEMA } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { SAMPLE_GRANT } from '../../../protocol/src/fixtures/sample-events.ts';
import { readWorkerStream } from './worker-stream.ts';

const HEADER = { schema: WORKER_SCHEMA, runId: 'run_00000000000000000001', attempt: 1, grant: SAMPLE_GRANT };
const DONE = {
  kind: 'capture.done',
  seq: 1,
  at: '2026-01-01T00:00:00.000Z',
  what: 'patch',
  files: 1,
  bytes: 2,
};

async function read(...values: unknown[]) {
  const received: unknown[] = [];
  const malformed: string[] = [];
  const stdout = Readable.from(Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join('')), {
    objectMode: false,
  });
  readWorkerStream(stdout, {
    onHeader: (header) => received.push(header),
    onLine: (line) => received.push(line),
    onMalformed: ({ reason }) => malformed.push(reason),
  });
  await finished(stdout);
  return { received, malformed };
}

test('a line of its kind is received', async () => {
  expect(await read(HEADER, DONE)).toEqual({ received: [HEADER, DONE], malformed: [] });
});

test.each([
  ['a wrong field', { ...DONE, files: 'many' }, 'capture.done does not fit: files (invalid_type)'],
  ['a missing field', { ...DONE, bytes: undefined }, 'capture.done does not fit: bytes (invalid_type)'],
  ['an unknown kind', { ...DONE, kind: 'capture.dreamt' }, 'unknown-kind'],
  ['the type of a host event', { ...DONE, kind: 'dispatch.accepted' }, 'unknown-kind'],
])('a line with %s is malformed, never received, and no gap', async (_what, line, problem) => {
  const next = { ...DONE, seq: 2 };
  expect(await read(HEADER, line, next)).toEqual({ received: [HEADER, next], malformed: [problem] });
});

test('what is no object is malformed and never received', async () => {
  expect(await read(HEADER, 'capture.done', DONE)).toEqual({
    received: [HEADER, DONE],
    malformed: ['unknown-kind'],
  });
});

test('a header that does not fit is none', async () => {
  expect(await read({ ...HEADER, grant: {} }, DONE)).toEqual({
    received: [],
    malformed: ['no-header', 'no-header'],
  });
});
