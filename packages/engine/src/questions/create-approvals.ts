import type { Clock } from '@caisson/ground';
import { createPrefixedId } from '../platform/index.ts';
import type { ApprovalDecision, ApprovalRequest, Approvals, DecidedBy } from './contract.ts';

/** More waiting calls of one run than this are denied: a person cannot read them all. */
const MAX_PENDING = 16;

interface Pending {
  readonly request: ApprovalRequest;
  decide(decision: ApprovalDecision, by: DecidedBy): Promise<void>;
  cancelDeadline(): void;
}

export function createApprovals(options: { clock: Clock; deadlineMs: number }): Approvals {
  const { clock, deadlineMs } = options;
  const pending = new Map<string, Pending>();
  const ofRun = (runId: string): Pending[] =>
    [...pending.values()].filter(({ request }) => request.runId === runId);

  const hold = (approvalId: string, request: ApprovalRequest, limitMs = deadlineMs) => {
    const decided = Promise.withResolvers<{ decision: ApprovalDecision; by: DecidedBy }>();
    const decide = async (decision: ApprovalDecision, by: DecidedBy): Promise<void> => {
      if (!pending.delete(approvalId)) return; // AP2
      cancelDeadline();
      try {
        await request.emit('approval.decided', { approvalId, decision, by }); // AP1
        decided.resolve({ decision, by });
      } catch (error) {
        decided.resolve({ decision: 'deny', by: 'ending' }); // AP3: what is not recorded is not allowed
        throw error;
      }
    };
    const cancelDeadline = clock.setTimer(limitMs, () => {
      decide('deny', 'deadline').catch(() => undefined); // already answered with a deny
    });
    pending.set(approvalId, { request, decide, cancelDeadline });
    return decided.promise;
  };
  return {
    async request(request) {
      const { earlier } = request;
      if (earlier !== undefined) return hold(earlier.approvalId, request, earlier.leftMs);
      if (ofRun(request.runId).length >= MAX_PENDING) return { decision: 'deny', by: 'deadline' };
      const approvalId = createPrefixedId('approval', clock);
      const decision = hold(approvalId, request);
      const { tool, what, actionClass, requestId } = request;
      const deadlineAt = new Date(clock.wallMs() + deadlineMs).toISOString();
      try {
        const call = request.storeCall === undefined ? {} : { call: await request.storeCall() };
        const asked = { approvalId, tool, what, actionClass, deadlineAt, requestId, ...call };
        await request.emit('approval.requested', asked); // AP1
      } catch (error) {
        pending.get(approvalId)?.cancelDeadline();
        pending.delete(approvalId);
        throw error;
      }
      return decision;
    },
    async decide(approvalId, decision) {
      const found = pending.get(approvalId);
      if (found === undefined) return false;
      await found.decide(decision, 'user');
      return true;
    },
    async close(runId) {
      await Promise.allSettled(ofRun(runId).map(({ decide }) => decide('deny', 'ending')));
    },
  };
}
