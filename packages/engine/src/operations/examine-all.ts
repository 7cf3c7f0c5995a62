/** What `caisson doctor` looks at, without a repair, for callers that only read. */
import { readHostEnvironment, type ResolvedConfig } from '../config/index.ts';
import { examineHost, type ProbeReport } from '../discovery/index.ts';
import { examineAgents } from './examine-agents.ts';
import { examineConfig } from './examine-config.ts';
import { examineDeclaredAgents } from './examine-declared-agents.ts';
import { examineProject } from './examine-project.ts';

export interface Examination {
  readonly verdict: ProbeReport['verdict'];
  readonly probes: readonly ProbeReport[];
}

export async function examineAll(config: ResolvedConfig, cwd: string): Promise<Examination> {
  const { stateDir, folders, runtimes } = config;
  const host = { env: readHostEnvironment(), home: folders.home, stateDir, runtimes };
  const { report } = await examineConfig({ flags: { state: stateDir }, cwd });
  const found = await examineHost(host);
  const project = await examineProject(config, { isQuick: true });
  const { usual, agents } = await examineAgents(config, cwd);
  const probes = [report, ...found, usual, ...agents, ...(await examineDeclaredAgents(config)), ...project];
  const verdict = (['fail', 'warn'] as const).find((one) => probes.some((probe) => probe.verdict === one));
  return { verdict: verdict ?? 'ok', probes };
}
