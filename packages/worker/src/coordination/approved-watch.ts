/**
 * Finds calls that a person approved and that the program itself then refused: it has rules of its own, and the record
 * would say "allowed" of something that never ran.
 * AW1  Refused is a call that the program never began, or that it ended in words of refusal. One that failed has run.
 * AW2  A call that was still open when the agent was ended is none of these.
 */
import type { AgentSignal } from '../runtimes/index.ts';
import type { ToolCall, ToolGate } from './tool-gate.ts';
import { keyOf } from './ungated-watch.ts';

const REFUSAL =
  /(rejected|denied|blocked|refused) by|has been (denied|rejected|blocked)|not permitted|permission to use/i;

export interface ApprovedWatch {
  watched(gate: ToolGate): ToolGate;
  receive(signal: AgentSignal): void;
  agentEnded(): void;
}

/** `refused` is called once for each such call, with what the program said about it. */
export function createApprovedWatch(refused: (call: ToolCall, why: string) => void): ApprovedWatch {
  const approved = new Set<ToolCall>();
  const open = new Map<string, ToolCall>();
  const findApproved = (ran: ToolCall): ToolCall | undefined =>
    [...approved].find((call) => (call.id !== undefined && call.id === ran.id) || isSameCommand(call, ran));
  return {
    watched: (gate) => ({
      judge: async (call) => {
        const verdict = await gate.judge(call);
        const canBeFound = call.id !== undefined || keyOf(call) !== '';
        if (verdict.allow && verdict.isApproved === true && canBeFound) approved.add(call);
        return verdict;
      },
    }),
    receive(signal) {
      if (signal.kind === 'tool-start')
        open.set(signal.callId, { id: signal.callId, tool: signal.tool, input: signal.input });
      if (signal.kind !== 'tool-end') return;
      const ran = open.get(signal.callId);
      open.delete(signal.callId);
      const call = ran === undefined ? undefined : findApproved(ran);
      if (call === undefined) return;
      approved.delete(call);
      if (!signal.ok && REFUSAL.test(signal.detail ?? '')) refused(call, signal.detail ?? '');
    },
    agentEnded() {
      for (const ran of open.values()) {
        const call = findApproved(ran);
        if (call !== undefined) approved.delete(call); // AW2
      }
      // Of a call that is no command it cannot be said for sure: not every program numbers its calls in one way.
      for (const call of approved) if (keyOf(call) !== '') refused(call, 'the program did not run it');
      approved.clear();
    },
  };
}

const isSameCommand = (left: ToolCall, right: ToolCall): boolean =>
  keyOf(left) !== '' && keyOf(left) === keyOf(right);
