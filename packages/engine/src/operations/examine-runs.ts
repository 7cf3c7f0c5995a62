/** Runs that a dead host left without an ending, as findings of the doctor. */
import type { ProbeReport } from '../discovery/index.ts';
import { openHosts } from '../composition/open-hosts.ts';
import type { Ledger } from '../ledger/index.ts';
import { nameFirst } from './name-first.ts';
import { findWaitingRuns } from './waiting-workers.ts';

const SETTLE = 'The next command that works with runs settles them, or says why it cannot: caisson runs';
const TAKE_OVER = 'caisson up -d takes over what waits for a daemon, and caisson cancel RUN ends it.';

export async function examineRuns(stateDir: string, ledger: Ledger): Promise<ProbeReport> {
  const id = 'runs';
  const hosts = openHosts(stateDir, ledger);
  const isHostAlive = (host: string): Promise<boolean> => hosts.isAlive(host);
  const open = ledger.runs({ status: ['queued', 'running'] });
  const waiting = await findWaitingRuns(ledger, stateDir, isHostAlive);
  const dead: string[] = [];
  for (const { runId, host } of open)
    if (!waiting.includes(runId) && !(await isHostAlive(host))) dead.push(runId);
  const findings = [
    ...waiting.map((runId) => `${runId} goes on, and waits for a daemon`),
    ...dead.map((runId) => `${runId} has no ending, and its host is dead`),
  ];
  if (findings.length === 0) return { id, verdict: 'ok', detail: describeOpen(open.length) };
  return {
    id,
    verdict: 'warn',
    detail: nameFirst(findings),
    findings,
    remedy: [waiting.length > 0 ? TAKE_OVER : [], dead.length > 0 ? SETTLE : []].flat().join(' '),
    ...(dead.length > 0 ? { repair: 'caisson doctor --repair settles them.' } : {}),
  };
}

function describeOpen(count: number): string {
  return count === 1
    ? '1 run is under way, with a living host'
    : `${count} runs are under way, each with a living host`;
}
