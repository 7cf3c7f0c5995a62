/** What `caisson doctor` looks at, without a repair, for callers that only read. */
import { readHostEnvironment } from '../config/index.ts';
import { examineHost, type ProbeReport } from '../discovery/index.ts';
import { examineAgents } from './examine-agents.ts';
import { examineConfig } from './examine-config.ts';
import { examineDeclaredAgents } from './examine-declared-agents.ts';
import { examineResidents } from './examine-residents.ts';
import { examineProject } from './examine-project.ts';

export interface Examination {
  readonly verdict: ProbeReport['verdict'];
  readonly probes: readonly ProbeReport[];
}

export async function examineAll(stateDir: string, cwd: string): Promise<Examination> {
  const { config, report } = await examineConfig({ flags: { state: stateDir }, cwd });
  const { folders, runtimes } = config;
  const host = { env: readHostEnvironment(), home: folders.home, stateDir, runtimes };
  const found = await examineHost(host);
  const project = await examineProject(config, { isQuick: true });
  const { usual, agents } = await examineAgents(config, cwd);
  const probes = [
    report,
    ...found,
    usual,
    ...agents,
    ...(await examineDeclaredAgents(config)),
    ...(await examineResidents(config)),
    ...project,
  ];
  const verdict = (['fail', 'warn'] as const).find((one) => probes.some((probe) => probe.verdict === one));
  return { verdict: verdict ?? 'ok', probes };
}
