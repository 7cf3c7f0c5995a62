import type { Cause } from '@caisson/protocol';
import type { Ledger } from '../ledger/index.ts';

/** The signals that led to a run: those of the thread that started it. A role's run has its thread as its session. */
export function findRunCauses(ledger: Pick<Ledger, 'read' | 'run'>, runId: string): readonly Cause[] {
  const session = ledger.run(runId)?.session;
  return session?.startsWith('thread_') === true ? findThreadCauses(ledger, session) : [];
}

/** The signals that led to a thread, its own among them. */
export function findThreadCauses(ledger: Pick<Ledger, 'read'>, threadId: string): readonly Cause[] {
  const [accepted] = ledger.read({ runId: threadId, types: ['thread.accepted'] });
  if (accepted === undefined) return [];
  const { causes, trigger } = accepted.data;
  if (trigger.kind !== 'signal') return causes;
  const { signalId, name, sense } = trigger;
  return [...causes, { signalId, name, sense }];
}
