export type * from './contract.ts';
export { createApprovals } from './create-approvals.ts';
export { createQuestions } from './create-questions.ts';
export { listApprovals } from './list-approvals.ts';
