export type { DiscoveredRuntime, FoundLogin, ProbeContext, ProbeReport } from './contract.ts';
export {
  discoverRuntimes,
  locateRuntimes,
  toDiscoveredPayload,
  type LocatedRuntime,
} from './discover-runtimes.ts';
export { examineHost, PROBES } from './examine-host.ts';
export { findLogin } from './find-credential.ts';
export { findProgram } from './find-program.ts';
export { findInstalledVersion } from './installed-version.ts';
export { compareVersions } from './program-version.ts';
export { nearestExisting } from './storage-probes.ts';
