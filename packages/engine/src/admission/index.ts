export { admit, rehearse } from './admit.ts';
export * from './contract.ts';
export { describeTask } from './describe-task.ts';
export { expectsHandoff } from './expects-handoff.ts';
export {
  RunAmbiguousError,
  RunLeftError,
  RunNotFoundError,
  RunUnsettledError,
  TaskRefusedError,
} from './errors.ts';
export { findKeptWork, findResumedRun, planStart, type WorkStart } from './kept-work.ts';
export { managerEnv } from './manager-files.ts';
export { loginHosts, passesBroker } from './login-files.ts';
export { joinVariables, requireToAnswer, requireVariables } from './passed-variables.ts';
export { poolOf } from './pool-limit.ts';
export { findWorkAttempt, mayLackPatch, type RecordedWork } from './recorded-work.ts';
export { previewRun, type RunPreview } from './preview-run.ts';
export { refuseTask } from './refuse-task.ts';
export { parseRequest } from './request-shape.ts';
export * from './rooms.ts';
export { toolBinds } from './tool-binds.ts';
export { materialiseInputs } from './stored-inputs.ts';
export { describeTaken, findEarlierBranch, findTakenBranch, listEarlierBranches } from './taken-branch.ts';
export { listBeyondProject } from './within-project.ts';
export { hasCleanRoom, warnOfWeakerVerify } from './verify-lens.ts';
export { findUnenforcedLimit, listUnenforced } from './unenforced-limits.ts';
