import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ADMISSION_CHECKS } from './admission-checks.ts';
import { TaskRefusedError } from './errors.ts';
import { storeInputs } from './stored-inputs.ts';

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'inputs-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('an input that cannot be looked at is refused, not thrown', async () => {
  const path = join(createFolder(), 'loop');
  symlinkSync(path, path);
  const present = ADMISSION_CHECKS.find(({ name }) => name === 'inputs-present');
  const refusal = await present?.run({ inputs: [{ key: 'spec', path }] } as never, {} as never);
  expect(refusal).toMatchObject({ check: 'inputs-present', kind: 'usage' });
  expect(refusal?.detail).toMatch(/^input spec cannot be read: .*ELOOP/);
});

test('an input that vanished after it was checked refuses the task', async () => {
  const path = join(createFolder(), 'gone');
  const stored = storeInputs({ putBlob: () => Promise.reject(new Error('not reached')) }, [
    { key: 'spec', path },
  ]);
  await expect(stored).rejects.toThrow(TaskRefusedError);
  await expect(stored).rejects.toThrow(`input spec is not a file: ${path}`);
});
