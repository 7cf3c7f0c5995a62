import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { describeLargest } from './state-usage.ts';

it('what gc would free is without the only copy of work, and with a file of two names once', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'caisson-usage-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const put = (name: string, mark: string): string => {
    const folder = join(stateDir, 'trash', name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'trashed'), `${mark}\n`);
    return folder;
  };
  const [first, second] = [put('run_a.1', 'saved'), put('run_b.1', 'saved')];
  writeFileSync(join(first, 'file'), Buffer.alloc(2_000_000));
  linkSync(join(first, 'file'), join(second, 'file'));
  const only = put('run_c.1', 'unsaved');
  writeFileSync(join(only, 'file'), Buffer.alloc(9_000_000));
  const said = await describeLargest(stateDir);
  expect(said).toContain('caisson gc --older-than 0s frees up to 1.9m');
  expect(said).toContain(`is in ${only} (`);
});
