import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { daemonLogPath, findOwnLog, keepOwnLog, limitOwnLog, startLogPath } from './daemon-log.ts';

function makeStateDir(): string {
  const stateDir = mkdtempSync(join(tmpdir(), 'caisson-log-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  mkdirSync(join(stateDir, 'runtime'));
  return stateDir;
}

test('a log that grows too long is moved aside, and the process goes on in an empty one', () => {
  const stateDir = makeStateDir();
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

test('the log of its own start becomes its log; the one before is kept, and old ones of other starts go', () => {
  const stateDir = makeStateDir();
  const log = daemonLogPath(stateDir);
  writeFileSync(log, 'before');
  for (const pid of [2, 3]) writeFileSync(startLogPath(stateDir, pid), 'other');
  utimesSync(startLogPath(stateDir, 2), 1, 1);
  const ownFd = openSync(startLogPath(stateDir, 1), 'a');
  onTestFinished(() => closeSync(ownFd));
  keepOwnLog(stateDir, ownFd);
  expect(findOwnLog(stateDir, ownFd)).toBe(log);
  expect(readdirSync(join(stateDir, 'runtime'))).toEqual([
    'daemon-start.3.log',
    'daemon.log',
    'daemon.log.1',
  ]);
  expect(readFileSync(`${log}.1`, 'utf8')).toBe('before');
  keepOwnLog(stateDir, ownFd);
  expect(readFileSync(`${log}.1`, 'utf8')).toBe('before');
});
