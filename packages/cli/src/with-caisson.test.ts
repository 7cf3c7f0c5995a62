import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BusTopic } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';
import type { Output } from './output.ts';
import { withCaissonToSteer, withCaissonToWrite } from './with-caisson.ts';

test.each([
  ['steers', withCaissonToSteer],
  ['writes', withCaissonToWrite],
])('a command that %s prints the warnings of its host', async (_what, withCaisson) => {
  const stateDir = mkdtempSync(join(tmpdir(), 'caisson-state-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const said: unknown[] = [];
  const output = { note: (lines: unknown) => void said.push(lines) } as unknown as Output;
  await withCaisson(stateDir, output, async ({ bus }) => {
    void bus.emit(BusTopic.WARNING, { source: 'residents', message: 'it cannot be removed' });
  });
  expect(JSON.stringify(said)).toContain('warning: residents: it cannot be removed');
});
