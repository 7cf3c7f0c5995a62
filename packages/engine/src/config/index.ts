export type {
  Ask,
  ConfigChange,
  ConfigRow,
  ExplainedConfig,
  KeySend,
  LoadConfigOptions,
  ResolvedConfig,
  ResolvedResidentGrant,
  ResolvedResidents,
  ResolvedSchedule,
  ResolvedSense,
  ResolvedWorkflow,
  TrustDecision,
  TrustRequest,
  UserFolders,
} from './contract.ts';
export { isPlainCommand } from './anchor-exec.ts';
export { acceptRoot, forgetRoot, isAcceptedRoot } from './accepted-roots.ts';
export { readCronTimes, type CronTimes } from './cron-times.ts';
export { ConfigError, ProjectRefusedError } from './errors.ts';
export { readHostEnvironment } from './host-environment.ts';
export { createLiveConfig, type LiveConfig } from './live-config.ts';
export { explainConfig, getCurrentFolder, loadConfig, locateProject } from './load-config.ts';
export {
  CONFIG_FILE_NAME,
  describeMisnamedConfig,
  findProject,
  findProjectRoot,
  looksLikeState,
  toReal,
} from './project-root.ts';
export {
  markersFolder,
  listMarkedStates,
  readMarkedState,
  STATE_ID_FILE,
  type StateMarker,
} from './state-marker.ts';
export { rememberLogin } from './remember-login.ts';
export { envNameOf, SETTING_KEYS, type SettingKey } from './settings.ts';
export { describeUnknownVariable, findUnknownVariables } from './unknown-variables.ts';
export { USER_CONFIG_FILE_NAME } from './user-config.ts';
export { resolveUserFolders } from './user-folders.ts';
