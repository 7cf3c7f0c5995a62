import { RunAmbiguousError, RunNotFoundError } from '../admission/index.ts';
import type { Ledger } from '../ledger/index.ts';

const PREFIX = 'run_';
const MIN_CHARACTERS = 4;

/** The run of a whole id, a unique beginning or ending of one (with or without `run_`), or `latest`. */
export function resolveRunId(ledger: Ledger, given: string): string {
  if (ledger.run(given) !== null) return given;
  const runIds = ledger.runs({ newestFirst: true }).map((row) => row.runId);
  if (given === 'latest' && runIds[0] !== undefined) return runIds[0];
  const matching = given.length < MIN_CHARACTERS ? [] : runIds.filter((runId) => isMeant(runId, given));
  const [only] = matching;
  if (only === undefined) throw new RunNotFoundError(given);
  if (matching.length > 1) throw new RunAmbiguousError(given, matching);
  return only;
}

function isMeant(runId: string, given: string): boolean {
  return runId.startsWith(given) || runId.startsWith(PREFIX + given) || runId.endsWith(given);
}
