export * from './config/index.ts';
export * from './discovery/index.ts';
export { createCaisson, type Caisson, type CaissonOptions } from './caisson.ts';
export { RunNotFoundError, TaskRefusedError } from './dispatch/index.ts';
export type { DispatchRequest, Refusal, RunHandle, WorkspaceKind } from './dispatch/index.ts';
export type { RunFilter, RunRow } from './ledger/index.ts';
export type { LogName } from './operations/read-run-log.ts';
