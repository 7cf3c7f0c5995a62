import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { openOutputLog } from './output-log.ts';

function openLog() {
  const folder = mkdtempSync(join(tmpdir(), 'output-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'log');
  const lines = (): string[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      .map((line) => line.replace(/^\S+Z /, ''));
  return { log: openOutputLog(path), lines };
}

it('what is logged stays on its own line, and changes no terminal', () => {
  const { log, lines } = openLog();
  log.write('a', 'one\n2026-01-01T00:00:00.000Z other: forged\r\u001b[2Jx\u009b1m\u2028\u202ey\tz é 👍');
  expect(lines()).toEqual([
    String.raw`a: one\n2026-01-01T00:00:00.000Z other: forged\r\u{1b}[2Jx\u{9b}1m\u{2028}\u{202e}y` +
      '\tz é 👍',
    '',
  ]);
});

it('each line that is printed is a line of the log', async () => {
  const { log, lines } = openLog();
  const stream = new PassThrough();
  log.collect('stdout', stream);
  stream.end('one\ntwo \u001b[31mred\n');
  await new Promise((resolve) => stream.once('close', resolve));
  expect(lines()).toEqual(['stdout: one', String.raw`stdout: two \u{1b}[31mred`, '']);
});
