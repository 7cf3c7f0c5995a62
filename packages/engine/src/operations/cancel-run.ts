/** Asks the host that owns the run; when that host is dead, settles the run instead. */
import type { Engine } from '../engine.ts';
import { HostUnreachableError } from '../hosts/index.ts';

export async function cancelRun(
  engine: Engine,
  runId: string,
  options: { force?: boolean } = {},
): Promise<'asked' | 'ended-already' | 'settled'> {
  const row = engine.ledger.run(runId);
  if (row === null || row.ending !== undefined) return 'ended-already';
  try {
    const reply = await engine.hosts.order(row.host, {
      kind: 'cancel',
      runId,
      force: options.force ?? false,
    });
    return reply.ok ? 'asked' : 'ended-already';
  } catch (error) {
    if (!(error instanceof HostUnreachableError)) throw error;
    await engine.recover();
    return 'settled';
  }
}
