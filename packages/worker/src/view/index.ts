export { proxyVariables, QUIET_PROGRAMS } from './inside-variables.ts';
export { listFolder, listFolderBytes } from './list-folder.ts';
export { findNestedControls, heldGrades, listHeldPaths } from './nested-controls.ts';
export {
  INSIDE,
  brokerPort,
  buildSandboxSpec,
  relayed,
  type SandboxPurpose,
  type ViewOptions,
} from './sandbox-view.ts';
