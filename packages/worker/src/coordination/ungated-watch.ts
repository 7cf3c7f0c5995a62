/**
 * Compares what a program reports as run with the gate's answers, and ends one that runs commands without permission.
 * UW1  A command that worked although the gate was never asked: the version does not know our hook and ignores it.
 * UW2  A command that worked, that the gate did not allow and that policy would not have allowed: the hook was killed,
 *      its answer was forged, or the program does not obey it. The gate is asked before a call, so its answer is always
 *      here first. A failed command may never have run, and is no proof.
 */
import { classifyTool, type Evaluation } from '@caisson/policy';
import { RUNTIME_DESCRIPTORS, type Failure, type Job } from '@caisson/protocol';
import type { AgentSignal } from '../runtimes/index.ts';
import type { ToolCall, ToolGate } from './tool-gate.ts';

export interface UngatedWatch {
  /** The same gate; the watch sees every request to it and its answer. */
  watched(gate: ToolGate): ToolGate;
  receive(signal: AgentSignal): void;
  agentEnded(): void;
}

export interface UngatedWatchOptions {
  readonly runtime: Pick<Job['runtime'], 'name' | 'adapter'>;
  /** The policy's decision about the call, without a person. */
  evaluate(call: ToolCall): Evaluation;
  /** Called once, with the call that ran. */
  found(call: ToolCall, judged: Evaluation, failure: Failure): void;
}

export function createUngatedWatch({ runtime, evaluate, found }: UngatedWatchOptions): UngatedWatch {
  const descriptor = runtime.adapter === undefined ? RUNTIME_DESCRIPTORS[runtime.name] : undefined;
  const title = descriptor?.title ?? runtime.name;
  const running = new Map<string, ToolCall>();
  const passed = new Set<string>();
  let wasAsked = false;
  // Only programs with our hook: our own agent judges itself, and others ask in other ways.
  let isOver = descriptor === undefined || descriptor.bins.length === 0;
  const end = (call: ToolCall, detail: string): void => {
    isOver = true;
    found(call, evaluate(call), { reason: 'policy-denied', detail });
  };
  const judgeRan = (call: ToolCall): void => {
    if (!wasAsked)
      end(
        call,
        `${title} ran a command without asking the gate: this version cannot be gated. Use one that caisson runtimes calls tested.`,
      );
    else if (!passed.has(keyOf(call)) && evaluate(call).decision !== 'allow')
      end(call, `${title} ran a command that the gate did not allow: its hook was bypassed`);
  };
  return {
    watched: (gate) => ({
      judge: async (call) => {
        wasAsked = true;
        const verdict = await gate.judge(call);
        if (verdict.allow && isCommand(call)) passed.add(keyOf(call));
        return verdict;
      },
    }),
    receive(signal) {
      if (isOver) return;
      if (signal.kind === 'tool-start' && isCommand(signal)) running.set(signal.callId, callOf(signal));
      if (signal.kind !== 'tool-end') return;
      const call = running.get(signal.callId);
      running.delete(signal.callId);
      if (signal.ok && call !== undefined) judgeRan(call);
    },
    agentEnded: () => undefined,
  };
}

const callOf = ({ tool, input }: { tool: string; input?: unknown }): ToolCall => ({ tool, input });

const commandOf = ({ tool, input }: { tool: string; input?: unknown }): string | null =>
  classifyTool(tool, input).command;

const isCommand = (call: { tool: string; input?: unknown }): boolean => commandOf(call) !== null;

/** Codex reports a command as the shell got it, quoted again; the letters are the same. */
export function keyOf(call: ToolCall): string {
  const bare = (commandOf(call) ?? '').replace(/^\S*sh -l?c /, '');
  return bare.replaceAll(/['"\\\s]/g, '');
}
