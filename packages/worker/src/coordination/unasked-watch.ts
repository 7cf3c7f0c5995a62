/**
 * Compares what a program behind ACP says it did with what it asked permission for.
 * UA1  A call that worked, was not asked about and is not allowed by policy ends the run.
 * UA2  A program that is not known to ask, and acts without asking or never asks at all, is limited by the sandbox alone:
 *      that is reported once. (Programs that are known do not ask about commands that they take for read-only.)
 * What failed may never have run, and is no proof.
 */
import type { AgentSignal } from '../runtimes/index.ts';
import type { ToolCall } from './tool-gate.ts';
import type { UngatedWatch, UngatedWatchOptions } from './ungated-watch.ts';

/** The kinds of ACP that change or reach something, in policy's words; all others read, think or are the program's own. */
const ACTING = new Set(['edit', 'delete', 'bash', 'web_fetch']);

export interface UnaskedWatchOptions extends Pick<UngatedWatchOptions, 'evaluate' | 'found'> {
  /** What the program is called. */
  readonly title: string;
  /** Whether its settings make it ask. */
  readonly isKnownToAsk: boolean;
  /** Called once, with a sentence for people. */
  limitedBySandbox(message: string): void;
}

export function createUnaskedWatch(options: UnaskedWatchOptions): UngatedWatch {
  const { title, evaluate } = options;
  const asked = new Set<string>();
  const running = new Map<string, ToolCall>();
  let wasAsked = false;
  let isOver = false;
  let isReported = options.isKnownToAsk;
  const report = (why: string): void => {
    if (!isReported) options.limitedBySandbox(`${title} ${why}: its calls are limited by the sandbox alone`);
    isReported = true;
  };
  const judgeUnasked = (call: ToolCall): void => {
    const judged = evaluate(call);
    report('does not ask before it acts'); // UA2
    if (judged.decision === 'allow') return;
    isOver = true;
    const detail = `${title} did something that policy does not allow, without asking before`;
    options.found(call, judged, { reason: 'policy-denied', detail }); // UA1
  };
  return {
    watched: (gate) => ({
      judge: (call) => {
        wasAsked = true;
        if (call.id !== undefined) asked.add(call.id);
        return gate.judge(call);
      },
    }),
    receive(signal: AgentSignal) {
      if (signal.kind === 'tool-start' && ACTING.has(signal.tool))
        running.set(signal.callId, { tool: signal.tool, input: signal.input });
      if (signal.kind !== 'tool-end') return;
      const call = running.get(signal.callId);
      running.delete(signal.callId);
      if (!isOver && signal.ok && call !== undefined && !asked.has(signal.callId)) judgeUnasked(call);
    },
    agentEnded() {
      if (!wasAsked) report('asked for no permission in this run'); // UA2
    },
  };
}
