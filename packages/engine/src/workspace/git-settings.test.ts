import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { describeGitSettings } from './git-settings.ts';

/** Versions of git read it in different ways. */
const ONLY_GIT = '[alias]\n\tx = a\tb\n';

test("the system's settings are read again when they were changed, and not before", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'git-settings-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  let starts = 0;
  const onStart = (): void => void (starts += 1);
  subscribe('child_process', onStart);
  onTestFinished(() => void unsubscribe('child_process', onStart));
  const file = join(folder, 'gitconfig');
  const describe = (): Promise<string> => describeGitSettings({ attemptDir: folder }, file);
  writeFileSync(file, '[core]\n\tautocrlf = true\n', { mode: 0o644 });
  expect([await describe(), starts]).toEqual(['[core]\n\tautocrlf = "true"\n', 0]);
  writeFileSync(file, `[core]\n\tautocrlf = input\n${ONLY_GIT}`, { mode: 0o644 });
  const first = await describe();
  expect(starts).toBe(1);
  for (let count = 0; count < 20; count += 1) expect(await describe()).toBe(first);
  expect(starts).toBe(1);
  writeFileSync(file, `[core]\n\tautocrlf = false\n${ONLY_GIT}`);
  const second = await describe();
  expect(second).toBe(first.replace('input', 'false'));
  expect(second).toContain('[core]\n\tautocrlf = "false"\n');
  expect(starts).toBe(2);
});
