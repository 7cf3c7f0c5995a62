import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { attemptPaths } from '../attempt/index.ts';
import type { Engine } from '../engine.ts';
import { followRunLog } from './follow-run-log.ts';

const RUN = 'run_00000000000000000001';
const BYTES = 1_000_000;

test('the log of an ended run comes in pieces', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'caisson-log-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const { spool } = attemptPaths(stateDir, RUN, 2);
  mkdirSync(spool, { recursive: true });
  writeFileSync(join(spool, 'stdout'), Buffer.alloc(BYTES, 'x'));
  const ledger = { run: () => ({ attempt: 2, ending: 'dispatch.finished' }) };
  const engine = { ledger, config: { stateDir } } as unknown as Engine;
  const sizes: number[] = [];
  for await (const piece of followRunLog(engine, RUN, 'stdout')) sizes.push(piece.length);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(BYTES);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(64 * 1024);
});
