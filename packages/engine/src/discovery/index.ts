export type {
  DiscoveredRuntime,
  FoundLogin,
  LoginState,
  Probe,
  ProbeContext,
  ProbeReport,
  Verdict,
} from './contract.ts';
export {
  discoverRuntimes,
  locateRuntimes,
  toDiscoveredPayload,
  type DiscoveryContext,
  type LocatedRuntime,
} from './discover-runtimes.ts';
export { examineHost, PROBES } from './examine-host.ts';
export { findLogin } from './find-credential.ts';
export { findProgram } from './find-program.ts';
export { findInstalledVersion } from './installed-version.ts';
export { compareVersions } from './program-version.ts';
