import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync, appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemClock } from '@caisson/ground';
import { expect, onTestFinished, test } from 'vitest';
import type { Engine } from '../engine.ts';
import { residentPaths } from '../residents/index.ts';
import { followResidentLog } from './follow-resident-log.ts';

test('who follows a log reads the rest of a file that is full before the one that follows it', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'resident-log-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const { log } = residentPaths(stateDir, 'senses.a');
  mkdirSync(dirname(log), { recursive: true });
  writeFileSync(log, 'one\n');
  const { signal } = new AbortController();
  const config = { stateDir } as Engine['config'];
  const lines = followResidentLog({ config, clock: systemClock }, 'senses.a', { follow: true, signal });
  const next = async (): Promise<string> => String((await lines.next()).value);
  expect(await next()).toBe('one\n');
  // All of this between two looks of the reader.
  appendFileSync(log, 'two\n');
  renameSync(log, `${log}.1`);
  writeFileSync(log, 'a third line that is longer than both of the others\n');
  expect([await next(), await next()]).toEqual([
    'two\n',
    'a third line that is longer than both of the others\n',
  ]);
  await lines.return(undefined);
});
