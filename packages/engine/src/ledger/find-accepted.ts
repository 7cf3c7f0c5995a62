import type { Ledger, StoredOf } from './contract.ts';

/** The acceptance of a run, read at its place: what came after it is not read, however much it is. */
export function findAccepted(
  ledger: Pick<Ledger, 'run' | 'read'>,
  runId: string,
): StoredOf<'dispatch.accepted'> | null {
  const row = ledger.run(runId);
  const [event] = row === null ? [] : ledger.read({ after: row.acceptedOffset - 1, limit: 1 });
  return event?.type === 'dispatch.accepted' && event.runId === runId ? event : null;
}
