/**
 * Asks the host that owns the run; when that host is dead, settles the run instead, also one whose worker goes on. A host that
 * exists and does not answer (stopped, or overloaded) still has the order, and carries it out once it runs again.
 */
import type { Engine } from '../engine.ts';
import { HostUnreachableError } from '../hosts/index.ts';

export type CancelOutcome = 'asked' | 'ended-already' | 'settled' | 'unanswered';

export async function cancelRun(
  engine: Engine,
  runId: string,
  options: { force?: boolean; interrupt?: boolean } = {},
): Promise<CancelOutcome> {
  const row = engine.ledger.run(runId);
  const isPushing = row?.waitingBranch === 'pending'; // until its host is done with it, a run can still be stopped
  if (row === null || (row.ending !== undefined && !isPushing)) return 'ended-already';
  const own = row.host === engine.hostId ? engine.dispatcher.active(runId) : null;
  if (own !== null) {
    own.cancel(options);
    return 'asked';
  }
  try {
    const reply = await engine.hosts.order(row.host, {
      kind: 'cancel',
      runId,
      force: options.force ?? false,
      interrupt: options.interrupt ?? false,
    });
    return reply.ok ? 'asked' : 'ended-already';
  } catch (error) {
    if (!(error instanceof HostUnreachableError)) throw error;
    if (row.ending !== undefined) return 'ended-already';
    await engine.recover({ cancelled: runId });
    const after = engine.ledger.run(runId);
    if (after?.ending !== undefined) return 'settled';
    const isAdopted = after !== null && after.host !== row.host; // meanwhile
    return isAdopted ? cancelRun(engine, runId, options) : 'unanswered';
  }
}
