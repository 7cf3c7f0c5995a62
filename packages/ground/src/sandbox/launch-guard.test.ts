import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';

const MODULE = new URL('launch-guard.ts', import.meta.url).href;

it('removes every folder that was in use when its process ended, and no other', async () => {
  const base = mkdtempSync(join(tmpdir(), 'caisson-guard-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [left, done, open] = ['left over', 'done', 'open'].map((name) => join(base, name));
  for (const folder of [left, done, open]) mkdirSync(folder ?? '');
  const program = `import { launchGuard } from '${MODULE}';
    const [left, done, open] = process.argv.slice(1);
    launchGuard().using(left);
    launchGuard().using(done)();
    launchGuard().using(open);
    process.kill(process.pid, 'SIGKILL');`;
  const args = ['--input-type=module', '-e', program, left ?? '', done ?? '', open ?? ''];
  expect(spawnSync(process.execPath, args).signal).toBe('SIGKILL');
  await vi.waitFor(() => expect([left, open].map((path) => existsSync(path ?? ''))).toEqual([false, false]));
  expect(existsSync(done ?? '')).toBe(true);
});
