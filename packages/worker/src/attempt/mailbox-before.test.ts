import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { lookAtMailbox } from './mailbox-before.ts';

it('a file that was there before is not the agent’s until the agent writes it', () => {
  const mailbox = mkdtempSync(join(tmpdir(), 'mailbox-'));
  onTestFinished(() => rmSync(mailbox, { recursive: true }));
  writeFileSync(join(mailbox, 'handoff.json'), '{}');
  const isFromBefore = lookAtMailbox(mailbox);
  expect([isFromBefore('handoff.json'), isFromBefore('needs_input.json')]).toEqual([true, false]);
  for (const name of ['handoff.json', 'needs_input.json'] as const) {
    writeFileSync(join(mailbox, name), '{ }');
    expect(isFromBefore(name)).toBe(false);
  }
});
