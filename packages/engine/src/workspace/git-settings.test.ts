import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { describeGitSettings } from './git-settings.ts';

test("the system's settings are read again when they were changed, and not before", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'git-settings-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'gitconfig');
  const describe = (): Promise<string> => describeGitSettings({ attemptDir: folder }, file);
  writeFileSync(file, '[core]\n\tautocrlf = input\n', { mode: 0o644 });
  const first = await describe();
  const before = process.cpuUsage();
  for (let count = 0; count < 200; count += 1) expect(await describe()).toBe(first);
  // Two hundred starts of git would be seconds.
  expect(process.cpuUsage(before).user + process.cpuUsage(before).system).toBeLessThan(300_000);
  writeFileSync(file, '[core]\n\tautocrlf = false\n');
  expect([first, await describe()]).toEqual([
    '[core]\n\tautocrlf = "input"\n',
    '[core]\n\tautocrlf = "false"\n',
  ]);
});
