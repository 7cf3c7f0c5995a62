export type * from './contract.ts';
export { createApprovals } from './create-approvals.ts';
export { listApprovals } from './list-approvals.ts';
