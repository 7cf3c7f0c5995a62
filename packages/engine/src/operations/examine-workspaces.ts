/** Refs and attempt folders of ours that no run of the ledger owns, as findings of the doctor. */
import type { ProbeReport } from '../discovery/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { InspectedWorkspaces } from '../workspace/index.ts';

const MAX_NAMED = 5;

export function examineWorkspaces(inspected: InspectedWorkspaces, ledger: Ledger): readonly ProbeReport[] {
  return [examineRefs(inspected, ledger), examineAttempts(inspected, ledger)];
}

function examineRefs({ refs }: InspectedWorkspaces, ledger: Ledger): ProbeReport {
  const id = 'checkpoints';
  const broken = refs.filter(({ isBroken }) => isBroken);
  const unknown = refs.filter(({ runId, isBroken }) => !isBroken && ledger.run(runId) === null);
  const findings = [
    ...broken.map(({ ref, repository }) => `${ref} in ${repository} cannot be read`),
    ...unknown.map(({ ref, repository }) => `${ref} in ${repository} is of no run in this ledger`),
  ];
  if (findings.length === 0)
    return { id, verdict: 'ok', detail: `${refs.length} refs under refs/caisson, each of a run` };
  return {
    id,
    verdict: broken.length > 0 ? 'fail' : 'warn',
    detail: name(findings),
    findings,
    remedy:
      broken.length > 0
        ? 'Take broken refs away: caisson doctor --repair'
        : 'They may be of another state folder, or all that is left of a lost ledger: look at them (git log REF), then git update-ref -d REF.',
  };
}

function examineAttempts({ attempts, foreign }: InspectedWorkspaces, ledger: Ledger): ProbeReport {
  const id = 'worktrees';
  const findings = [
    ...attempts
      .filter(({ runId }) => ledger.run(runId) === null)
      .map(({ attemptDir }) => `${attemptDir} is of no run in this ledger`),
    ...attempts
      .filter(({ hasRepository }) => !hasRepository)
      .map(({ attemptDir, prepared }) => `${attemptDir}: its repository ${prepared?.custodyDir} is gone`),
    ...foreign.map((path) => `${path} was not made by this Caisson, or its record cannot be read`),
  ];
  if (findings.length === 0)
    return { id, verdict: 'ok', detail: `${attempts.length} attempt folders, each of a run` };
  return {
    id,
    verdict: 'warn',
    detail: name(findings),
    findings,
    remedy:
      'caisson doctor --repair saves and removes what it can; look at the others and remove them yourself.',
  };
}

function name(findings: readonly string[]): string {
  const more = findings.length > MAX_NAMED ? `; and ${findings.length - MAX_NAMED} more` : '';
  return `${findings.slice(0, MAX_NAMED).join('; ')}${more}`;
}
