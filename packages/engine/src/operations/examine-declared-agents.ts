/** The `agents:` of the configuration, as findings of the doctor. Admission decides about each; nothing is started. */
import { rehearse, TaskRefusedError, type Candidate } from '../admission/index.ts';
import { openRehearsal } from '../composition/open-rehearsal.ts';
import { withScratchFolder } from '../composition/scratch-folder.ts';
import type { ResolvedConfig } from '../config/index.ts';
import type { ProbeReport } from '../discovery/index.ts';
import { asFinding } from './examine-ledger.ts';

/** Any task, or any command line: only what the definition itself brings is judged. */
const TASK = 'Say hello.';
const COMMAND = ['true'];

/** One finding for each agent that the configuration declares. */
export async function examineDeclaredAgents(config: ResolvedConfig): Promise<readonly ProbeReport[]> {
  const names = Object.keys(config.agents).toSorted();
  if (names.length === 0) return [];
  return await withScratchFolder(async (scratch) => {
    const reports: ProbeReport[] = [];
    for (const name of names) reports.push(await examineOne(config, scratch, name));
    return reports;
  });
}

/** Its own rooms: a rehearsed run keeps its money reserved. */
async function examineOne(config: ResolvedConfig, scratch: string, name: string): Promise<ProbeReport> {
  const id = `agent-${name}`;
  const isCommand = (config.agents[name]?.runtime ?? config.runtime) === 'command';
  const task = isCommand ? { argv: COMMAND } : { task: TASK };
  const line = `caisson run --agent ${name} ${isCommand ? '-- …' : '"…"'}`;
  try {
    const candidate = await rehearse(openRehearsal(config, scratch), { agent: name, ...task });
    return { id, verdict: 'ok', detail: `${line} ${describe(candidate)}` };
  } catch (error) {
    if (!(error instanceof TaskRefusedError)) return asFinding(id, error);
    const { detail, remedy = 'Correct the definition in caisson.yaml.' } = error.refusal;
    return { id, verdict: 'warn', detail: `${line} is refused: ${detail}`, remedy };
  }
}

function describe({ runtime, model, grant }: Candidate): string {
  return `starts ${runtime.name}${model === '' ? '' : ` with ${model}`}, mode ${grant.mode}`;
}
