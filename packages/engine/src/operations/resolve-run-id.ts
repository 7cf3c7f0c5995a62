import { RunAmbiguousError, RunNotFoundError } from '../admission/index.ts';
import type { Ledger } from '../ledger/index.ts';

const PREFIX = 'run_';
const MIN_CHARACTERS = 4;
/** So many are counted of those that a part could mean. */
const MAX_COUNTED = 100;

/** The run of a whole id, a unique beginning or ending of one (with or without `run_`), or `latest`. */
export function resolveRunId(ledger: Ledger, given: string): string {
  if (ledger.run(given) !== null) return given;
  const [latest] = given === 'latest' ? ledger.runs({ newestFirst: true, limit: 1 }) : [];
  if (latest !== undefined) return latest.runId;
  const matching = given.length < MIN_CHARACTERS ? [] : findMeant(ledger, given);
  const [only] = matching;
  if (only === undefined) throw new RunNotFoundError(given);
  if (matching.length > 1) throw new RunAmbiguousError(given, matching, MAX_COUNTED);
  return only;
}

function findMeant(ledger: Ledger, given: string): string[] {
  const parts = [{ beginning: given }, { beginning: PREFIX + given }, { end: given }];
  return [...new Set(parts.flatMap((part) => ledger.runIds(part, MAX_COUNTED)))];
}
