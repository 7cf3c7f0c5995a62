import { BusTopic } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { createBus } from '../bus/index.ts';
import { publishOnBus } from './publish-on-bus.ts';

it('a compiled prompt is told on the bus by its hash, never by its text', async () => {
  const bus = createBus();
  const heard: unknown[] = [];
  bus.on(BusTopic.PROMPT_COMPILED, (payload) => heard.push(payload));
  const data = {
    role: 'reviewer',
    tier: 'fast',
    mode: 'suggest',
    estimatedTokens: 12,
    fragmentCount: 2,
    hash: 'a'.repeat(64),
  };
  publishOnBus(bus, {
    id: 'x',
    runId: 'run_00000000000000000001',
    attempt: 0,
    type: 'prompt.compiled',
    version: 1,
    at: '2026-01-01T00:00:00.000Z',
    trace: 't',
    seq: 2,
    offset: 2,
    data,
  });
  await expect.poll(() => heard).toEqual([data]);
});
