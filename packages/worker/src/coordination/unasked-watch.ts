/**
 * Compares what a program behind ACP says it did with what it asked permission for.
 * UA1  A call that worked although it was denied, or that was not asked about and is not allowed by policy, ends the run.
 * UA2  A program that is not known to ask, and acts without asking or never asks at all, is limited by the sandbox alone:
 *      that is reported once. Admission refuses such a program where there is no sandbox.
 * What failed may never have run, and is no proof. Neither is a tool that policy does not know, if it was not asked about.
 */
import type { Evaluation } from '@caisson/policy';
import type { AgentSignal } from '../runtimes/index.ts';
import type { ToolCall } from './tool-gate.ts';
import type { UngatedWatch, UngatedWatchOptions } from './ungated-watch.ts';

/** The kinds of ACP that change and reach nothing, in policy's words. Policy judges all others, also those of kind `other`. */
const READING = new Set(['read', 'grep', 'think']);

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
  /** Whether a call that was asked about was allowed. */
  const verdicts = new Map<string, boolean>();
  const running = new Map<string, ToolCall>();
  let wasAsked = false;
  let isOver = false;
  let isReported = options.isKnownToAsk;
  const report = (why: string): void => {
    if (!isReported) options.limitedBySandbox(`${title} ${why}: its calls are limited by the sandbox alone`);
    isReported = true;
  };
  // UA1
  const end = (call: ToolCall, judged: Evaluation, what: string): void => {
    isOver = true;
    options.found(call, judged, { reason: 'policy-denied', detail: `${title} did something that ${what}` });
  };
  const judgeUnasked = (call: ToolCall): void => {
    const judged = evaluate(call);
    const isAllowed = judged.decision === 'allow';
    if (isAllowed && judged.actionClass === 'file_read') return; // it reads, or writes the program's own notes
    report('does not ask before it acts'); // UA2
    if (!isAllowed && judged.rule !== 'unknown-tool')
      end(call, judged, 'policy does not allow, without asking before');
  };
  const judgeDone = (id: string, call: ToolCall): void => {
    const wasAllowed = verdicts.get(id);
    verdicts.delete(id); // a permission is for one call: a program may use an id again
    if (wasAllowed === undefined) judgeUnasked(call);
    else if (!wasAllowed) end(call, evaluate(call), 'was denied before');
  };
  return {
    watched: (gate) => ({
      judge: async (call) => {
        wasAsked = true;
        const verdict = await gate.judge(call);
        if (call.id !== undefined) verdicts.set(call.id, verdict.allow);
        return verdict;
      },
    }),
    receive(signal: AgentSignal) {
      if (signal.kind === 'tool-start' && !READING.has(signal.tool))
        running.set(signal.callId, { tool: signal.tool, input: signal.input });
      if (signal.kind !== 'tool-end') return;
      const call = running.get(signal.callId);
      running.delete(signal.callId);
      if (!isOver && signal.ok && call !== undefined) judgeDone(signal.callId, call);
    },
    agentEnded() {
      if (!wasAsked) report('asked for no permission in this run'); // UA2
    },
  };
}
