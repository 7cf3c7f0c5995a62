/** `verify --all`: every run that ended, a page at a time, so that memory does not grow with the project. */
import { examineEventsAlone, type Caisson, type Verification, type VerifyOptions } from '@caisson/engine';
import { CaissonError } from '@caisson/protocol';
import type { Output } from './output.ts';
import { line, type Lines, type Style } from './painted.ts';
import { showProgress, showsProgress } from './show-progress.ts';

const PAGE = 100;
/** To count them only. */
const LARGE_PAGE = 500;
/** So many that are not correct are named; the others are counted. */
const MAX_NAMED = 100;

type Outcome = Verification['outcome'];

/** What is wrong with the ledger itself, whose runs may each be correct. */
export type LedgerProblem = Omit<Problem, 'runId'>;

export interface EveryVerification {
  /** The worst of all. */
  readonly outcome: Outcome;
  readonly runs: number;
  /** Runs whose contents a person deleted. */
  readonly forgotten: number;
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** The first runs that are not correct, each with what is wrong with it. */
  readonly problems: readonly Problem[];
  readonly ledger?: LedgerProblem;
}

interface Problem {
  readonly runId: string;
  readonly outcome: Outcome;
  readonly detail: string;
  /** What to do, where that is known. */
  readonly remedies?: readonly string[];
}

/** The worst comes first. */
const OUTCOMES: readonly Outcome[] = ['tampered', 'bad-signature', 'incomplete', 'unsealed', 'no-key', 'ok'];

/** Damage that no run shows: of a page between theirs, of a row that says which runs there are. */
export async function verifyLedger(
  { config }: Pick<Caisson, 'config'>,
  output: Output,
): Promise<LedgerProblem | null> {
  const progress = showProgress(output, (done, of) => `checking the ledger: ${done} of ${of} events`);
  const { verdict, outcome, detail, remedy, repair } = await examineEventsAlone(
    config,
    (what, done, total) => {
      if (what === 'events') progress(done, total);
    },
  );
  output.status(null);
  if (verdict !== 'fail') return null;
  return { outcome: outcome ?? 'tampered', detail, remedies: [repair, remedy].flatMap((text) => text ?? []) };
}

/** The runs and the ledger together. */
export function joinLedger(every: EveryVerification, ledger: LedgerProblem | null): EveryVerification {
  if (ledger === null) return every;
  const found = [every.outcome, ledger.outcome];
  return { ...every, ledger, outcome: OUTCOMES.find((each) => found.includes(each)) ?? ledger.outcome };
}

export async function verifyEvery(
  caisson: Caisson,
  how: Partial<VerifyOptions>,
  output: Output,
): Promise<EveryVerification> {
  const outcomes = { tampered: 0, 'bad-signature': 0, incomplete: 0, unsealed: 0, 'no-key': 0, ok: 0 };
  const problems: Problem[] = [];
  const progress = showProgress(output, (done, of) => `verified ${done} of ${of} runs`);
  const total = showsProgress(output) ? await countEnded(caisson, output) : 0;
  const optionsOf = chooseLines(how);
  let [runs, forgotten] = [0, 0];
  for await (const runId of listEnded(caisson, PAGE)) {
    const found = await verifyOne(caisson, runId, optionsOf(runId));
    if (found === null) forgotten += 1;
    else {
      runs += 1;
      outcomes[found.outcome] += 1;
      if (found.outcome !== 'ok' && problems.length < MAX_NAMED) problems.push(found);
      if (output.format === 'ndjson') output.event(found);
    }
    progress(runs + forgotten, Math.max(total, runs + forgotten + 1)); // others may have ended meanwhile
  }
  output.status(null);
  const outcome = OUTCOMES.find((each) => outcomes[each] > 0) ?? 'ok';
  return { outcome, runs, forgotten, outcomes, problems };
}

/** A run is compared with the lines of a given witness that name it, not with all. */
function chooseLines(how: Partial<VerifyOptions>): (runId: string) => Partial<VerifyOptions> {
  if (how.witness === undefined) return () => how;
  const lines = Map.groupBy(how.witness, ({ runId }) => runId);
  return (runId) => ({ ...how, witness: lines.get(runId) ?? [] });
}

async function countEnded(caisson: Caisson, output: Output): Promise<number> {
  let count = 0;
  const progress = showProgress(output, (done) => `counting the runs: ${done}`);
  for await (const _runId of listEnded(caisson, LARGE_PAGE)) progress((count += 1), Infinity);
  return count;
}

async function* listEnded(caisson: Caisson, rows: number): AsyncGenerator<string> {
  let after: string | undefined;
  do {
    const page = await caisson.runs({ limit: rows, ...(after === undefined ? {} : { after }) });
    for (const { runId, endedAt } of page) if (endedAt !== undefined) yield runId;
    after = page.length < rows ? undefined : page.at(-1)?.runId;
  } while (after !== undefined);
}

/** Null for a run that was forgotten. What is wrong with one run does not keep the others from being checked. */
async function verifyOne(
  caisson: Caisson,
  runId: string,
  how: Partial<VerifyOptions>,
): Promise<Problem | null> {
  try {
    const { outcome, checks } = await caisson.verify(runId, how);
    const wrong = checks.filter(({ verdict }) => verdict === 'failed' || verdict === 'missing');
    return { runId, outcome, ...describeWrong(wrong) };
  } catch (error) {
    if (!(error instanceof CaissonError)) throw error;
    if (error.code === 'RUN_FORGOTTEN') return null;
    if (error.code !== 'TAMPERED' && error.code !== 'LEDGER_CORRUPT') throw error;
    return { runId, outcome: 'tampered', detail: error.message };
  }
}

/** Checks with one remedy have one cause (a damaged file, say), which is named once. */
function describeWrong(wrong: Verification['checks']): Pick<Problem, 'detail' | 'remedies'> {
  const causes = Map.groupBy(wrong, ({ remedy, detail }) => remedy ?? detail);
  const details = Array.from(
    causes.values(),
    (checks) => `${checks.map(({ id }) => id).join(', ')}: ${checks[0]?.detail}`,
  );
  const remedies = [...new Set(wrong.flatMap(({ remedy }) => remedy ?? []))];
  return { detail: details.join('; '), ...(remedies.length === 0 ? {} : { remedies }) };
}

export function describeEvery(every: EveryVerification, style: Style): Lines {
  const { outcome, runs, forgotten, outcomes, problems, ledger } = every;
  const wrong = OUTCOMES.filter((each) => each !== 'ok' && outcomes[each] > 0);
  const unnamed = runs - outcomes.ok - problems.length;
  const remedies = [...problems, ...(ledger === undefined ? [] : [ledger])].flatMap(
    (one) => one.remedies ?? [],
  );
  const counts = [
    ...(ledger === undefined ? [] : ['the ledger is not']),
    ...wrong.map((each) => `${outcomes[each]} ${each}`),
  ];
  return [
    ...(ledger === undefined
      ? []
      : [line`${style.red(ledger.outcome)}  the ledger  ${style.dim(ledger.detail)}`]),
    ...problems.map((each) => line`${style.red(each.outcome)}  ${each.runId}  ${style.dim(each.detail)}`),
    ...(unnamed === 0 ? [] : [`and ${unnamed} more; -o ndjson names all`]),
    ...Array.from(new Set(remedies), (remedy) => line`${style.dim(remedy)}`),
    outcome === 'ok'
      ? line`${style.green('verified')}  ${runs} runs${forgotten === 0 ? '' : `; ${forgotten} ${forgotten === 1 ? 'was' : 'were'} forgotten`}`
      : line`${style.red(outcome)}  ${outcomes.ok} of ${runs} runs are correct; ${counts.join(', ')}`,
  ];
}
