// The NDJSON decoder, with all its checks, against a loop that only splits and parses.
import { createNdjsonDecoder } from '@caisson/protocol';

import { measureInTurns } from './alternate.ts';
import type { BenchRow } from './bench-row.ts';

const LINE_BYTES = 230;
const LINES = 20_000;
const CHUNK_BYTES = 65_536;
const ROUNDS = 15;

export async function run(): Promise<BenchRow[]> {
  const input = createInput();
  const rates = await measureInTurns(ROUNDS, {
    ours: () => linesPerSecond(() => decodeWithCodec(input)),
    plain: () => linesPerSecond(() => decodeWithSplit(input)),
  });
  const ratio = rates.ours / rates.plain;
  return [
    {
      name: `codec: decode lines of ${LINE_BYTES} bytes in chunks of ${CHUNK_BYTES / 1024} KiB`,
      value: rates.ours,
      unit: 'lines/s',
      peer: 'split at LF and JSON.parse',
      peerValue: rates.plain,
      ratio,
      target: '>= 0.9x',
      met: ratio >= 0.9,
    },
  ];
}

function createInput(): Buffer {
  const lines = Array.from({ length: LINES }, (_, seq) => {
    const line = {
      kind: 'progress',
      seq,
      at: '2026-01-01T00:00:00.000Z',
      phase: 'agent',
      turns: 3,
      tokensIn: 81_220,
    };
    const padding = LINE_BYTES - 1 - JSON.stringify({ ...line, text: '' }).length;
    return `${JSON.stringify({ ...line, text: 'x'.repeat(padding) })}\n`;
  });
  return Buffer.from(lines.join(''));
}

function linesPerSecond(decode: () => number): number {
  const startedAt = performance.now();
  const count = decode();
  const seconds = (performance.now() - startedAt) / 1000;
  if (count !== LINES) throw new Error(`${count} lines: the measurement is wrong`);
  return LINES / seconds;
}

function decodeWithCodec(input: Buffer): number {
  const decoder = createNdjsonDecoder();
  let count = 0;
  for (let at = 0; at < input.length; at += CHUNK_BYTES) {
    for (const record of decoder.push(input.subarray(at, at + CHUNK_BYTES)))
      if (record.kind === 'value') count += 1;
  }
  return count + decoder.end().length;
}

function decodeWithSplit(input: Buffer): number {
  let rest = '';
  let count = 0;
  for (let at = 0; at < input.length; at += CHUNK_BYTES) {
    const lines = (rest + input.subarray(at, at + CHUNK_BYTES).toString('utf8')).split('\n');
    rest = lines.pop() ?? '';
    const values: unknown[] = [];
    for (const line of lines) values.push(JSON.parse(line));
    for (const value of values) if (value !== undefined) count += 1;
  }
  return count;
}
