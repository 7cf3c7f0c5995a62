/** What waits for a person: questions of agents, and tool calls. */
import { ApiInputs, definedOnly } from '@caisson/protocol';
import { json, list } from './define-operation.ts';

export const WAITING_OPERATIONS = {
  questions: list(1000, 1000)(
    'GET /v1/questions',
    () => ApiInputs.questions,
    ({ caisson }, filter) => caisson.questions(definedOnly(filter)),
    ({ questionId }) => questionId,
  ),
  approvals: list(1000, 1000)(
    'GET /v1/approvals',
    () => ApiInputs.approvals,
    ({ caisson }, filter) => caisson.approvals(definedOnly(filter)),
    ({ approvalId }) => approvalId,
  ),
  approval: json(
    'GET /v1/approvals/:approval',
    () => ApiInputs.approval,
    ({ caisson }, { approval }) => caisson.approval(approval),
  ),
  decide: json(
    'POST /v1/approvals/:approval/decision',
    () => ApiInputs.decide,
    ({ caisson }, { approval, decision }) => caisson.decide(approval, decision),
  ),
};
