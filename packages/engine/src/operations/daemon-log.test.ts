import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { daemonLogPath, findOwnLog, limitOwnLog } from './daemon-log.ts';

test('a log that grows too long is moved aside, and the process goes on in an empty one', () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'caisson-log-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  mkdirSync(join(stateDir, 'runtime'));
  const log = daemonLogPath(stateDir);
  const ownFd = openSync(log, 'a');
  onTestFinished(() => closeSync(ownFd));
  expect([findOwnLog(stateDir), findOwnLog(stateDir, ownFd)]).toEqual([null, log]);
  writeSync(ownFd, 'first\n');
  limitOwnLog(stateDir, { ownFd, maxBytes: 6 });
  expect(readFileSync(log, 'utf8')).toBe('first\n');
  writeSync(ownFd, 'second\n');
  limitOwnLog(stateDir, { ownFd, maxBytes: 6 });
  writeSync(ownFd, 'third\n');
  expect(readFileSync(`${log}.1`, 'utf8')).toBe('first\nsecond\n');
  expect(readFileSync(log, 'utf8')).toBe('third\n');
});
