import { expect, test } from 'vitest';
import type { Engine } from '../engine.ts';
import { LedgerFullError } from '../ledger/index.ts';
import { recordAct } from './record-act.ts';

/** Of a project whose disk is full. */
function openFull(): { engine: Engine; warnings: string[] } {
  const warnings: string[] = [];
  const full = () => Promise.reject(new LedgerFullError('ledger.db'));
  const engine = {
    recorder: { of: () => ({ append: full }) },
    bus: { emit: (_topic: string, { message }: { message: string }) => warnings.push(message) },
  };
  return { engine: engine as unknown as Engine, warnings };
}

test('what stops work is let through on a full disk, with a warning, and nothing else is', async () => {
  const { engine, warnings } = openFull();
  const actor = { by: 'a token', token: 'id' };
  for (const act of ['cancel', 'cancelThread', 'stop', 'reload'] as const)
    await recordAct(engine, actor, act, {});
  expect(warnings).toHaveLength(4);
  for (const act of ['apply', 'gc', 'dispatch'] as const)
    await expect(recordAct(engine, actor, act, {})).rejects.toThrow(LedgerFullError);
});
