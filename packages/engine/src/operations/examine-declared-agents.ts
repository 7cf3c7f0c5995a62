/** The `agents:` of the configuration, as findings of the doctor. Admission decides about each; nothing is started. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CaissonError } from '@caisson/protocol';
import { rehearse, TaskRefusedError, type Candidate } from '../admission/index.ts';
import { openRehearsal } from '../composition/open-rehearsal.ts';
import { withScratchFolder } from '../composition/scratch-folder.ts';
import { requireTrust } from '../composition/trusted-config.ts';
import type { ResolvedConfig } from '../config/index.ts';
import type { ProbeReport } from '../discovery/index.ts';
import { openLedger, type Ledger } from '../ledger/index.ts';
import { inspectStateFolder } from '../trust/index.ts';
import { asFinding } from './examine-ledger.ts';

/** Any task, or any command line: only what the definition itself brings is judged. */
const TASK = 'Say hello.';
const COMMAND = ['true'];

/** One finding for each agent that the configuration declares. */
export async function examineDeclaredAgents(config: ResolvedConfig): Promise<readonly ProbeReport[]> {
  const names = Object.keys(config.agents).toSorted();
  if (names.length === 0) return [];
  const untrusted = await findMissingTrust(config);
  if (untrusted !== null) return names.map((name) => reportRefused(config, name, untrusted));
  const recorded = openRecorded(config);
  try {
    return await withScratchFolder(async (scratch) => {
      const reports: ProbeReport[] = [];
      for (const name of names)
        reports.push(await examineOne(config, name, () => openRehearsal(config, scratch, recorded)));
      return reports;
    });
  } finally {
    await recorded?.close();
  }
}

interface Refused {
  readonly detail: string;
  readonly remedy?: string | undefined;
}

/** Without it every run is refused, before admission. */
async function findMissingTrust(config: ResolvedConfig): Promise<Refused | null> {
  try {
    await requireTrust(config);
    return null;
  } catch (error) {
    if (!(error instanceof CaissonError)) throw error;
    const [first = ''] = error.message.split('\n');
    return { detail: first.replace(/:$/, ''), remedy: error.remedy };
  }
}

/** The project's ledger, which knows what was spent. Its own finding reports why it cannot be opened. */
function openRecorded(config: ResolvedConfig): Ledger | undefined {
  const file = join(config.stateDir, 'ledger.db');
  if (inspectStateFolder(config).kind !== 'ours' || !existsSync(file)) return undefined;
  try {
    return openLedger(file);
  } catch (error) {
    if (error instanceof CaissonError) return undefined;
    throw error;
  }
}

/** Its own rooms: a rehearsed run keeps its money reserved. */
async function examineOne(
  config: ResolvedConfig,
  name: string,
  openRooms: () => ReturnType<typeof openRehearsal>,
): Promise<ProbeReport> {
  const task = isCommand(config, name) ? { argv: COMMAND } : { task: TASK };
  try {
    const candidate = await rehearse(openRooms(), { agent: name, ...task });
    return { id: idOf(name), verdict: 'ok', detail: `${lineOf(config, name)} ${describe(candidate)}` };
  } catch (error) {
    if (!(error instanceof TaskRefusedError)) return asFinding(idOf(name), error);
    return reportRefused(config, name, error.refusal);
  }
}

function reportRefused(config: ResolvedConfig, name: string, { detail, remedy }: Refused): ProbeReport {
  return {
    id: idOf(name),
    verdict: 'warn',
    detail: `${lineOf(config, name)} is refused: ${detail}`,
    remedy: remedy ?? 'Correct the definition in caisson.yaml.',
  };
}

const idOf = (name: string): string => `agent-${name}`;

function isCommand(config: ResolvedConfig, name: string): boolean {
  return (config.agents[name]?.runtime ?? config.runtime) === 'command';
}

function lineOf(config: ResolvedConfig, name: string): string {
  return `caisson run --agent ${name} ${isCommand(config, name) ? '-- …' : '"…"'}`;
}

function describe({ runtime, model, grant }: Candidate): string {
  return `starts ${runtime.name}${model === '' ? '' : ` with ${model}`}, mode ${grant.mode}`;
}
