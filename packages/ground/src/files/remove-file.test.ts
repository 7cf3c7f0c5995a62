import { mkdtempSync, rmdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { removeFileSync } from './remove-file.ts';

it('a file goes, one that is not there is no error, and any other error has its code and its words', () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-remove-'));
  onTestFinished(() => rmdirSync(folder));
  writeFileSync(join(folder, 'file'), '');
  removeFileSync(join(folder, 'file'));
  removeFileSync(join(folder, 'file'));
  expect(() => removeFileSync('/proc/sys/kernel/hostname/below')).toThrow(
    expect.objectContaining({ code: 'ENOTDIR', message: expect.stringMatching(/^ENOTDIR: not a directory/) }),
  );
});
