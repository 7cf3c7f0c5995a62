export type * from './contract.ts';
export { MARKER_NAME } from './contract.ts';
export { SandboxSpecError, SandboxStartError, SandboxUnavailableError } from './errors.ts';
export { findBwrap } from './bwrap-location.ts';
export { listReplacedFolders } from './hidden-paths.ts';
export { launchSandbox } from './launch.ts';
export { describeSandbox } from './describe.ts';
export { prepareLaunch } from './prepare-launch.ts';
export { describeProbeBasis, probeSandbox, requireSandbox, type SandboxProbe } from './probe.ts';
