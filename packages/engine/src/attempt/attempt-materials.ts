/** What an attempt is given beside its workspace: secrets, capabilities, and what is reported of it first. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Job } from '@caisson/protocol';
import { warnOfWeakerVerify, type AdmittedRun, type DispatchRooms } from '../admission/index.ts';
import { NO_ATTEMPT, type RunRecord } from '../ledger/index.ts';
import { warnUnsupportedSampling } from './sampling.ts';

export interface ResolvedSecrets {
  readonly values: Job['secrets'];
}

/** The secrets that the run was given, by their references. */
export async function resolveSecrets(rooms: DispatchRooms, run: AdmittedRun): Promise<ResolvedSecrets> {
  const wanted = [
    ...run.envBundles.flatMap((bundle) => Object.entries(bundle.secrets)),
    ...Object.entries(run.request.secrets ?? {}),
  ];
  const values = await Promise.all(
    wanted.map(async ([name, ref]) => ({ name, env: name, value: await rooms.secrets.resolve(ref) })),
  );
  return { values };
}

/** The worker copies out of these folders and never writes to them. */
export async function materialiseCapabilities(
  rooms: DispatchRooms,
  run: AdmittedRun,
  root: string,
): Promise<Job['overlay']> {
  const overlay: Job['overlay'] = [];
  for (const [index, capability] of run.capabilities.entries()) {
    mkdirSync(root, { recursive: true, mode: 0o700 });
    const path = join(root, String(index));
    await rooms.store.materialise(capability.hash, path, { readOnly: true });
    overlay.push({ path, sha256: capability.hash, name: capability.name });
  }
  return overlay;
}

/** Records what is said once about a run, before its first attempt. */
export async function recordFirst(run: AdmittedRun, record: RunRecord): Promise<void> {
  await recordPrompt(run, record);
  await warnUnsupportedSampling(run, record);
  await warnOfWeakerVerify(run, record);
}

/** Only the agent gets the text; the event has its hash. */
async function recordPrompt(run: AdmittedRun, record: RunRecord): Promise<void> {
  if (run.compiled === null) return;
  const data = { role: run.agent?.name ?? 'default', tier: run.tier, mode: run.grant.mode, ...run.compiled };
  await record.append('prompt.compiled', data, NO_ATTEMPT);
}
