import type { Probe, ProbeContext, ProbeReport } from './contract.ts';
import { apparmorProbe, cgroupsProbe, userNamespacesProbe } from './enclosure-probes.ts';
import { bubblewrapProbe, gitProbe, nodeProbe, platformProbe } from './program-probes.ts';
import {
  diskProbe,
  fileWatchesProbe,
  localeProbe,
  stateFolderProbe,
  temporaryFolderProbe,
} from './storage-probes.ts';

/** In the order in which a person would check. */
export const PROBES: readonly Probe[] = [
  platformProbe,
  nodeProbe,
  gitProbe,
  bubblewrapProbe,
  userNamespacesProbe,
  apparmorProbe,
  cgroupsProbe,
  diskProbe,
  stateFolderProbe,
  temporaryFolderProbe,
  fileWatchesProbe,
  localeProbe,
];

/** What decides whether, and with which limits, a sandbox can be built. */
export const SANDBOX_PROBES: readonly Probe[] = [bubblewrapProbe, userNamespacesProbe, cgroupsProbe];

/** Runs every probe; one that breaks is reported as a failure and does not hide the others. */
export async function examineHost(
  context: ProbeContext,
  probes: readonly Probe[] = PROBES,
): Promise<ProbeReport[]> {
  return await Promise.all(probes.map((probe) => runProbe(probe, context)));
}

async function runProbe(probe: Probe, context: ProbeContext): Promise<ProbeReport> {
  try {
    return { id: probe.id, ...(await probe.run(context)) };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return {
      id: probe.id,
      verdict: 'fail',
      detail: `the probe failed: ${detail}`,
      remedy: 'Report this with the output of caisson doctor -o json.',
    };
  }
}
