/**
 * Ends a program that runs commands without asking: a version that does not know our hook passes over it without a word.
 * Its first command that worked while the gate was never asked is the proof; no hook is asked after its call.
 */
import { classifyTool } from '@caisson/policy';
import { RUNTIME_DESCRIPTORS, type Failure, type Job } from '@caisson/protocol';
import type { AgentSignal } from '../runtimes/contract.ts';
import type { ToolGate } from './tool-gate.ts';

export interface UngatedWatch {
  /** The same gate; the watch hears of every question to it. */
  watched(gate: ToolGate): ToolGate;
  hear(signal: AgentSignal): void;
}

export function createUngatedWatch(
  { name, adapter }: Pick<Job['runtime'], 'name' | 'adapter'>,
  end: (failure: Failure) => void,
): UngatedWatch {
  const descriptor = adapter === undefined ? RUNTIME_DESCRIPTORS[name] : undefined;
  const commands = new Set<string>();
  // Only what we give a hook: our own agent judges itself, and others are asked in their own ways.
  let isProven = descriptor === undefined || descriptor.bins.length === 0;
  return {
    watched: (gate) => ({
      judge: (call) => {
        isProven = true;
        return gate.judge(call);
      },
    }),
    hear(signal) {
      if (isProven) return;
      if (signal.kind === 'tool-start' && isCommand(signal.tool, signal.input)) commands.add(signal.callId);
      if (signal.kind !== 'tool-end' || !signal.ok || !commands.has(signal.callId)) return;
      isProven = true;
      end({
        reason: 'policy-denied',
        detail: `${descriptor?.title ?? name} ran a command without asking the gate: this version cannot be gated. Use one that caisson runtimes calls tested.`,
      });
    },
  };
}

const isCommand = (tool: string, input: unknown): boolean =>
  typeof classifyTool(tool, input).command === 'string';
