/** Our refs and attempt folders that are broken, gone, or of no run of the ledger, as findings of the doctor. */
import type { ProbeReport } from '../discovery/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { InspectedWorkspaces, RefProblem } from '../workspace/index.ts';
import { nameFirst } from './name-first.ts';
import { walkMissed } from './repair-own-refs.ts';

const WORDS: Readonly<Record<RefProblem, string>> = {
  empty: 'cannot be read: it is empty',
  garbage: 'cannot be read: it names no object',
  'missing-object': 'names an object that does not exist',
  'left-lock': 'was left by a git that was killed',
};
const DAMAGED_REMEDY = 'Of a run whose work is lost: caisson forget RUN';
const DAMAGED_REPAIR = 'caisson doctor --repair restores what git still has, and removes what is broken.';
const UNKNOWN_REMEDY =
  'They may be of another state folder, or the rest of a lost ledger: inspect them (git show REF), then git update-ref -d REF.';
const LOST_REMEDY =
  'They may be the only copy of work of the runs that the ledger lacks: keep them (git show REF).';

export async function examineWorkspaces(
  inspected: InspectedWorkspaces,
  ledger: Ledger,
  hasLostRuns: boolean,
): Promise<readonly ProbeReport[]> {
  return [await examineRefs(inspected, ledger, hasLostRuns), examineAttempts(inspected, ledger)];
}

async function examineRefs(
  { refs }: InspectedWorkspaces,
  ledger: Ledger,
  hasLostRuns: boolean,
): Promise<ProbeReport> {
  const id = 'checkpoints';
  const [damage, unknown]: [string[], string[]] = [[], []];
  let count = 0;
  const look = async function* (): AsyncGenerator<string> {
    for await (const { ref, repository, runId, problem } of refs()) {
      count += 1;
      if (problem !== null) damage.push(`${ref} in ${repository} ${WORDS[problem]}`);
      else if (ledger.run(runId) === null)
        unknown.push(`${ref} in ${repository} is of no run in this ledger`);
      yield ref;
    }
  };
  const gone = new Set<string>();
  for await (const [ref] of walkMissed(ledger, look())) gone.add(ref);
  for (const ref of gone) damage.push(`${ref}, which the ledger names, is gone`);
  const findings = [...damage, ...unknown];
  if (findings.length === 0)
    return { id, verdict: 'ok', detail: `${count} refs under refs/caisson, each of a run` };
  const detail = nameFirst(findings);
  if (damage.length > 0)
    return { id, verdict: 'fail', detail, findings, remedy: DAMAGED_REMEDY, repair: DAMAGED_REPAIR };
  return { id, verdict: 'warn', detail, findings, remedy: hasLostRuns ? LOST_REMEDY : UNKNOWN_REMEDY };
}

function examineAttempts({ attempts, moved, foreign }: InspectedWorkspaces, ledger: Ledger): ProbeReport {
  const id = 'worktrees';
  const findings = [
    ...attempts
      .filter(({ runId }) => ledger.run(runId) === null)
      .map(({ attemptDir }) => `${attemptDir} is of no run in this ledger`),
    ...attempts
      .filter(({ hasRepository }) => !hasRepository)
      .map(({ attemptDir, prepared }) => `${attemptDir}: its repository ${prepared?.custodyDir} is gone`),
    ...moved.map(
      ({ attemptDir, from }) => `${attemptDir} was made in ${from}, before the state folder was moved`,
    ),
    ...foreign.map((path) => `${path} has no record that this Caisson wrote, or it cannot be read`),
  ];
  if (findings.length === 0)
    return { id, verdict: 'ok', detail: `${attempts.length} attempt folders, each of a run` };
  return {
    id,
    verdict: 'warn',
    detail: nameFirst(findings),
    findings,
    remedy: 'Inspect them, take what you need, and remove them yourself.',
    repair:
      'caisson doctor --repair saves and removes what it can; what it cannot save goes to the trash, and stays there.',
  };
}
