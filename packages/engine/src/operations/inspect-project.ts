/** What `caisson init` looks at before it writes a configuration. Changes nothing, and runs nothing of the project. */
import { readHostEnvironment, type ResolvedConfig } from '../config/index.ts';
import {
  examineHost,
  inspectRepository,
  SANDBOX_PROBES,
  type ProbeReport,
  type RepositoryFacts,
} from '../discovery/index.ts';
import { findTop } from '../workspace/index.ts';
import { examineAgents, type ExaminedAgents } from './examine-agents.ts';

export interface ProjectInspection extends ExaminedAgents {
  readonly repository: RepositoryFacts & { readonly isGit: boolean };
  readonly sandbox: readonly ProbeReport[];
}

export async function inspectProject(config: ResolvedConfig, cwd: string): Promise<ProjectInspection> {
  const { stateDir, folders, runtimes, projectRoot } = config;
  const host = { env: readHostEnvironment(), home: folders.home, stateDir, runtimes };
  const [examined, sandbox, top] = await Promise.all([
    examineAgents(config, cwd),
    examineHost(host, SANDBOX_PROBES),
    findTop(projectRoot),
  ]);
  return { ...examined, sandbox, repository: { ...inspectRepository(projectRoot), isGit: top !== null } };
}
