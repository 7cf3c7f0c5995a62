import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

import { claimFolder } from './folder-claim.ts';

const FIXTURE = fileURLToPath(new URL('fixtures/claim-folder.ts', import.meta.url));

it('one process has a folder, by any of its names, until it releases it or dies', async () => {
  const base = mkdtempSync(join(tmpdir(), 'caisson-claim-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const other = `${base}-link`;
  symlinkSync(base, other);
  onTestFinished(() => rmSync(other));

  const child = spawn(process.execPath, [FIXTURE, base], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  expect(await claimFolder(other, 'us')).toEqual({ kind: 'taken', holder: `process ${child.pid}` });
  child.kill('SIGKILL');
  await once(child, 'exit');

  const ours = await claimFolder(base, 'us');
  expect(ours.kind).toBe('claimed');
  expect(await claimFolder(base, 'them')).toEqual({ kind: 'taken', holder: 'us' });
  if (ours.kind === 'claimed') ours.release();
  const again = await claimFolder(base, 'us again');
  expect(again.kind).toBe('claimed');
  if (again.kind === 'claimed') again.release();
});
