import { mkdtempSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { followFile, openOutputFile } from './output-file.ts';

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-output-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('what is written is streamed while it grows, and the stream ends with the file', async () => {
  const folder = makeFolder();
  const fd = openOutputFile(folder);
  const { stream, end } = followFile(fd);
  const whole = text(stream);
  const first = new Promise((resolve) => void stream.once('data', resolve));
  writeSync(fd, 'one\n');
  await first;
  writeSync(fd, 'x'.repeat(3_000_000));
  writeSync(fd, '\nlast');
  end();
  expect(await whole).toBe(`one\n${'x'.repeat(3_000_000)}\nlast`);
  expect(readdirSync(folder)).toEqual([]);
});
