import { expect, onTestFinished, test } from 'vitest';
import type { AgentSignal } from '../runtimes/contract.ts';
import { createAttemptFixture } from './attempt-fixture.ts';
import { openCoordination } from './open-coordination.ts';
import { createSelfGate } from './self-gate.ts';

async function open() {
  const attempt = createAttemptFixture({ mode: 'suggest' });
  const coordination = await openCoordination(attempt.context);
  onTestFinished(async () => {
    await coordination.close();
    attempt.remove();
  });
  const receive = createSelfGate(attempt.context, coordination, () => undefined);
  let serial = 0;
  const deny = (path: string): void =>
    receive({
      kind: 'denied',
      callId: String((serial += 1)),
      tool: 'write',
      input: { path, content: 'x' },
      actionClass: 'file_write',
      rule: 'tool',
      cause: 'write',
    } satisfies AgentSignal);
  return { attempt, deny };
}

test('five different calls that an agent denied itself are no loop, and each is named', async () => {
  const { attempt, deny } = await open();
  for (const name of ['a', 'b', 'c', 'd', 'e']) deny(`${name}.txt`);
  expect(attempt.context.gathered.denials.map(({ what }) => what)).toContain('write: c.txt');
  await new Promise((resolve) => setImmediate(resolve));
  expect(attempt.kills).toBe(0);
});

test('the same call five times is', async () => {
  const { attempt, deny } = await open();
  for (let count = 0; count < 5; count += 1) deny('a.txt');
  await expect.poll(() => attempt.context.gathered.limit).toMatchObject({ cause: 'loop' });
});
