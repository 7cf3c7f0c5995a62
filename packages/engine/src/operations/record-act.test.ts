import { systemClock } from '@caisson/ground';
import { expect, test } from 'vitest';
import type { Engine } from '../engine.ts';
import { LedgerBusyError, LedgerClosedError, LedgerFullError } from '../ledger/index.ts';
import { recordAct, recordControl } from './record-act.ts';

/** Of a project whose ledger refuses everything. */
function openRefusing(error: Error): { engine: Engine; warnings: string[] } {
  const warnings: string[] = [];
  const engine = {
    clock: systemClock,
    recorder: { of: () => ({ append: () => Promise.reject(error) }) },
    bus: { emit: (_topic: string, { message }: { message: string }) => warnings.push(message) },
  };
  return { engine: engine as unknown as Engine, warnings };
}

test('what stops work is let through on a full disk, with a warning, and nothing else is', async () => {
  const { engine, warnings } = openRefusing(new LedgerFullError('ledger.db'));
  const actor = { by: 'a token', token: 'id' };
  for (const act of ['cancel', 'cancelThread', 'stop', 'reload'] as const)
    await recordAct(engine, actor, act, {});
  expect(warnings).toHaveLength(4);
  for (const act of ['apply', 'gc', 'dispatch'] as const)
    await expect(recordAct(engine, actor, act, {})).rejects.toThrow(LedgerFullError);
});

test('a daemon is stopped and reloaded while its ledger can record nothing; any other failure refuses it over TCP', async () => {
  const actor = { by: 'a token', token: 'id' };
  for (const error of [new LedgerFullError('ledger.db'), new LedgerBusyError('ledger.db')]) {
    const { engine, warnings } = openRefusing(error);
    await recordControl(engine, actor, 'stop');
    expect(warnings).toEqual([expect.stringContaining('who asked for stop could not be recorded')]);
  }
  const { engine, warnings } = openRefusing(new LedgerClosedError('ledger.db'));
  await expect(recordControl(engine, actor, 'reload')).rejects.toThrow(LedgerClosedError);
  expect(warnings).toEqual([]);
  await recordControl(engine, actor, 'stop', { isAlways: true });
  expect(warnings).toHaveLength(1);
});
