export type {
  Ask,
  ConfigChange,
  ConfigRow,
  ExplainedConfig,
  ConfigSource,
  KeySend,
  LoadConfigOptions,
  ResolvedBudget,
  ResolvedConfig,
  ResolvedLimits,
  TrustDecision,
  TrustRequest,
  UserFolders,
} from './contract.ts';
export { isPlainCommand } from './anchor-exec.ts';
export { acceptRoot, forgetRoot, isAcceptedRoot } from './accepted-roots.ts';
export { ConfigError, ProjectRefusedError, type ConfigProblem } from './errors.ts';
export { readHostEnvironment } from './host-environment.ts';
export { createLiveConfig, type LiveConfig } from './live-config.ts';
export { explainConfig, getCurrentFolder, loadConfig, locateProject } from './load-config.ts';
export {
  CONFIG_FILE_NAME,
  findProject,
  findProjectRoot,
  looksLikeState,
  STATE_FOLDER_NAME,
  type FoundProject,
  type ProjectRootOptions,
} from './project-root.ts';
export {
  isPrivateFolder,
  markersFolder,
  listMarkedStates,
  readMarkedState,
  STATE_ID_FILE,
  type MarkedState,
  type StateMarker,
} from './state-marker.ts';
export { rememberLogin } from './remember-login.ts';
export { envNameOf, SETTING_DEFAULTS, SETTING_KEYS, type SettingKey, type SettingValue } from './settings.ts';
export { describeUnknownVariable, findUnknownVariables, type UnknownVariable } from './unknown-variables.ts';
export { USER_CONFIG_FILE_NAME } from './user-config.ts';
export { resolveUserFolders } from './user-folders.ts';
