/** Runs that a dead host left without an ending, as findings of the doctor. */
import type { ProbeReport } from '../discovery/index.ts';
import { openHosts } from '../composition/open-hosts.ts';
import type { Ledger } from '../ledger/index.ts';
import { nameFirst } from './name-first.ts';

export async function examineRuns(stateDir: string, ledger: Ledger): Promise<ProbeReport> {
  const id = 'runs';
  const hosts = openHosts(stateDir, ledger);
  const open = ledger.runs({ status: ['queued', 'running'] });
  const findings: string[] = [];
  for (const { runId, host } of open)
    if (!(await hosts.isAlive(host))) findings.push(`${runId} has no ending, and its host is dead`);
  if (findings.length === 0)
    return { id, verdict: 'ok', detail: `${open.length} runs are under way, each with a living host` };
  return {
    id,
    verdict: 'warn',
    detail: nameFirst(findings),
    findings,
    remedy: 'The next command that works with runs settles them, or says why it cannot: caisson runs',
    repair: 'caisson doctor --repair settles them.',
  };
}
