/**
 * Agents with their own gate, over their own streams: they pause a call until it is answered, and report what they
 * denied.
 */
import { deny, type AttemptContext } from '../attempt/index.ts';
import type { AgentSignal } from '../runtimes/index.ts';
import { describeCall } from './describe-call.ts';
import type { Coordination } from './open-coordination.ts';

export function createSelfGate(
  context: AttemptContext,
  coordination: Pick<Coordination, 'gate' | 'loop'>,
  answer: (callId: string, decision: 'allow' | 'deny') => void,
): (signal: AgentSignal) => void {
  const judged = new Set<string>();
  return (signal) => {
    if (signal.kind === 'ask') {
      judged.add(signal.callId);
      void coordination.gate
        .judge({ tool: signal.tool, input: signal.input })
        .catch(() => ({ allow: false }))
        .then((verdict) => answer(signal.callId, verdict.allow ? 'allow' : 'deny'));
    }
    if (signal.kind !== 'denied' || judged.has(signal.callId)) return;
    const call = { tool: signal.tool, input: signal.input ?? signal.cause };
    const what = describeCall(call, signal, (text) => context.redactor.redact(text));
    deny(context, { layer: 'gate', what, actionClass: signal.actionClass, rule: signal.rule });
    coordination.loop.denied(call.tool, call.input);
  };
}
