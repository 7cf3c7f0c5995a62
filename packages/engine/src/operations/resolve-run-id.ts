import { RunNotFoundError } from '../dispatch/index.ts';
import type { Ledger } from '../ledger/index.ts';

/** The run that a whole id, a unique beginning or ending of one, or `latest` stands for. */
export function resolveRunId(ledger: Ledger, given: string): string {
  if (ledger.run(given) !== null) return given;
  const rows = ledger.runs({ newestFirst: true });
  if (given === 'latest' && rows[0] !== undefined) return rows[0].runId;
  const matching =
    given.length < 4 ? [] : rows.filter((row) => row.runId.startsWith(given) || row.runId.endsWith(given));
  const [only] = matching;
  if (matching.length === 1 && only !== undefined) return only.runId;
  throw new RunNotFoundError(given);
}
