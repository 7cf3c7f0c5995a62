export * from './config/index.ts';
export { explainConfig, loadConfig, loadConfigToRead } from './composition/trusted-config.ts';
export {
  grantTrust,
  inspectTrust,
  isAgreed,
  revokeTrust,
  type ProjectTrust,
} from './operations/project-trust.ts';
export { TrustRequiredError, type AskLine, type TrustReport } from './trust/index.ts';
export * from './discovery/index.ts';
export { createCaisson, type Caisson, type CaissonOptions, type FollowOptions } from './caisson.ts';
export { findRefusal } from './platform/index.ts';
export { RunAmbiguousError, RunNotFoundError, TaskRefusedError } from './admission/index.ts';
export type { Attachment, DispatchRequest, Refusal, RunHandle, WorkspaceKind } from './admission/index.ts';
export type { RunFilter, RunRow } from './ledger/index.ts';
export type { ListedBranch } from './operations/branches.ts';
export type { ListedRun } from './operations/list-runs.ts';
export { examineConfig, type ExaminedConfig } from './operations/examine-config.ts';
export { examineAgents, type AgentOutlook, type AgentReport } from './operations/examine-agents.ts';
export { examineDeclaredAgents } from './operations/examine-declared-agents.ts';
export { examineResidents } from './operations/examine-residents.ts';
export { inspectProject, type ProjectInspection } from './operations/inspect-project.ts';
export { rehearseRegistration } from './operations/rehearse-registration.ts';
export { rehearseRun } from './operations/rehearse-run.ts';
export { examineState } from './operations/examine-state.ts';
export {
  adoptStateFolder,
  inspectStateFolder,
  StateFolderRefused,
  type StatePlace,
  type StateRefusal,
  type StateStanding,
} from './trust/index.ts';
export { examineEventsAlone } from './operations/examine-ledger.ts';
export { examineProject, type ExamineOptions } from './operations/examine-project.ts';
export { repairProject, type Repair } from './operations/repair-project.ts';
export type { LogName } from './operations/read-run-log.ts';
export { openUserKeyring } from './composition/user-keys.ts';
export { createFileSink, openKeyring, parsePublicKey, parseWitness, verifyExport } from './evidence/index.ts';
export type {
  Exported,
  Keyring,
  ListedKey,
  PublicKey,
  ResultSink,
  SealedResult,
  Verification,
  VerifyOptions,
  WitnessLine,
} from './evidence/index.ts';
export { diffText } from './workspace/index.ts';
export { listPatchFiles, type PatchFile } from '@caisson/ground';
export type { ApplyChoice, ApplyResult } from './operations/run-patch.ts';
export type { GarbageOptions, GarbageReport } from './operations/garbage-report.ts';
export type { ProjectUsage } from './operations/measure-usage.ts';
export type { QuestionRow, SpendRow } from './ledger/index.ts';
export { listPricedModels, PRICE_TABLE_VERSION, type BudgetStanding } from './budget/index.ts';
export type { ListedName, RegistryApi, ShownName } from './operations/registry-api.ts';
export type { DiffLine, Registration, RegistryVersion } from './registry/index.ts';
export type { WholeApproval } from './operations/read-approval.ts';
export type { ApprovalDecision, ApprovalRow } from './questions/index.ts';
export type { Sessions, SessionSummary } from './session/index.ts';
export { DEFAULT_NAMESPACE, type Board, type BoardEntry } from '@caisson/ground';
export * from './handoff/index.ts';
export { isDaemonLoss, MCP_SCOPES, serveMcp } from './api/index.ts';
export type { McpBounds, McpProject, McpScope, McpServing } from './api/index.ts';
export { NoDaemonError } from './daemon/index.ts';
export { serveProject, type ServedProject } from './operations/serve-project.ts';
export {
  closeFace,
  END_UNSEEN_REMEDY,
  findDaemon,
  openFace,
  readDaemonMetrics,
  reloadDaemon,
  requireDaemon,
  stopDaemon,
  type DaemonPlace,
  type DaemonStanding,
} from './operations/find-daemon.ts';
export { endForNext, type ReplacedDaemon } from './operations/replace-daemon.ts';
export { openInBrowser } from './operations/open-in-browser.ts';
export { describeUnit, startDaemon } from './operations/start-daemon.ts';
export { openSpareWorkers } from './composition/open-spare-workers.ts';
export type { SpareWorkers } from './compute/index.ts';
