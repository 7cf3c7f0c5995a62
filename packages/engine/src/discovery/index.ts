export type {
  Credential,
  DiscoveredRuntime,
  FoundLogin,
  OtherAddress,
  ProbeContext,
  ProbeReport,
  RepositoryFacts,
} from './contract.ts';
export {
  discoverRuntimes,
  locateRuntimes,
  toDiscoveredPayload,
  type LocatedRuntime,
} from './discover-runtimes.ts';
export { describeProgram, type ProgramFile } from './describe-program.ts';
export { examineHost, PROBES, SANDBOX_PROBES } from './examine-host.ts';
export { chooseCredential, findKeyRef, findLogin, findOtherAddress } from './find-credential.ts';
export { findNativeProgram } from './find-native-program.ts';
export { findProgram } from './find-program.ts';
export { inspectRepository } from './inspect-repository.ts';
export { findInstalledVersion } from './installed-version.ts';
export { resolveProgramMemory, type ProgramMemory } from './program-memory.ts';
export { askVersion, compareVersions } from './program-version.ts';
export { findRepositoryFolders, isFileOf, type RepositoryFolders } from './repository-programs.ts';
export { nearestExisting } from './storage-probes.ts';
