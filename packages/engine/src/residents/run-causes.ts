import type { Cause } from '@caisson/protocol';
import type { Ledger } from '../ledger/index.ts';

/** The signals that led to a run: those of the thread that started it. A role's run has its thread as its session. */
export function findRunCauses(ledger: Pick<Ledger, 'read' | 'run'>, runId: string): readonly Cause[] {
  const session = ledger.run(runId)?.session;
  if (session?.startsWith('thread_') !== true) return [];
  const [accepted] = ledger.read({ runId: session, types: ['thread.accepted'] });
  if (accepted === undefined) return [];
  const { causes, trigger } = accepted.data;
  if (trigger.kind !== 'signal') return causes;
  const { signalId, name, sense } = trigger;
  return [...causes, { signalId, name, sense }];
}
