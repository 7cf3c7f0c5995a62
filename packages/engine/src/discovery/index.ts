export type { DiscoveredRuntime, LoginState, Probe, ProbeContext, ProbeReport, Verdict } from './contract.ts';
export {
  discoverRuntimes,
  locateRuntimes,
  toDiscoveredPayload,
  type DiscoveryContext,
  type LocatedRuntime,
} from './discover-runtimes.ts';
export { examineHost, PROBES } from './examine-host.ts';
export { findProgram } from './find-program.ts';
export { findInstalledVersion } from './installed-version.ts';
export { compareVersions } from './program-version.ts';
