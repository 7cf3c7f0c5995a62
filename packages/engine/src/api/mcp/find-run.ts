import type { Caisson } from '../../caisson-contract.ts';
import type { McpBounds } from './contract.ts';
import { OtherSessionError } from './errors.ts';

type Row = Awaited<ReturnType<Caisson['runs']>>[number];

/** The named run, if the server may see it. `latest` is the newest one that it may. */
export async function findRun(
  caisson: Pick<Caisson, 'runs' | 'find'>,
  { session }: Pick<McpBounds, 'session'>,
  run: string,
): Promise<Row> {
  if (session !== null && run === 'latest') {
    const [newest] = await caisson.runs({ session, newestFirst: true, limit: 1 });
    if (newest !== undefined) return newest;
  }
  const runId = await caisson.find(run);
  const [row] = await caisson.runs({ ids: [runId], ...(session === null ? {} : { session }) });
  if (row === undefined) throw new OtherSessionError(runId, session ?? '');
  return row;
}
