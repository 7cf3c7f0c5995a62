/**
 * Everything that judges and serves one agent. It contains the shell parser and is slow to load, so it is loaded late.
 */
import { findAcpProgram, isAcpRuntime, type Failure } from '@caisson/protocol';
import { deny, type AttemptContext } from '../attempt/index.ts';
import { createApprovedWatch, type ApprovedWatch } from './approved-watch.ts';
import { askTool } from './ask-tool.ts';
import { boardTools } from './board-tools.ts';
import { contextTools } from './context-tools.ts';
import type { CoordinationTool, ToolBench } from './coordination-tool.ts';
import { describeCall } from './describe-call.ts';
import { dispatchTool } from './dispatch-tool.ts';
import { handOffTool } from './hand-off-tool.ts';
import { createHostRequests } from './host-requests.ts';
import { createLoopBreaker, type LoopBreaker } from './loop-breaker.ts';
import { createEvaluation, createToolGate, type ToolGate } from './tool-gate.ts';
import { createUnaskedWatch } from './unasked-watch.ts';
import { createUngatedWatch, type UngatedWatch, type UngatedWatchOptions } from './ungated-watch.ts';

export interface AgentRules {
  readonly gate: ToolGate;
  readonly loop: LoopBreaker;
  /** Only what the grant names. */
  readonly tools: readonly CoordinationTool[];
  /** No signal of the agent follows. */
  agentEnded(): void;
}

export function createAgentRules(context: AttemptContext): AgentRules {
  const requests = createHostRequests(context);
  const end = (failure: Failure): void => {
    context.gathered.limit ??= failure;
    context.running?.kill();
  };
  const breaker = createLoopBreaker(end);
  const ungated = watchUngated(context, end);
  const approved = watchApproved(context);
  const gate = approved.watched(ungated.watched(createToolGate(context, requests, breaker)));
  const loop: LoopBreaker = {
    denied: breaker.denied,
    receive: (signal) => {
      ungated.receive(signal);
      approved.receive(signal);
      breaker.receive(signal);
    },
  };
  const agentEnded = (): void => {
    ungated.agentEnded();
    approved.agentEnded();
  };
  return { gate, loop, tools: grantedTools({ context, requests, gate }), agentEnded };
}

function watchApproved(context: AttemptContext): ApprovedWatch {
  const evaluate = createEvaluation(context.job);
  return createApprovedWatch((call, why) => {
    const judged = evaluate(call);
    const what = describeCall(call, judged, (text) => context.redactor.redact(text));
    const said = context.redactor.redact(why).slice(0, 500);
    deny(context, {
      layer: 'own-settings',
      what: `approved, but refused by the program itself: ${what} (${said})`.slice(0, 2048),
      actionClass: judged.actionClass,
      rule: 'program',
    });
  });
}

function watchUngated(context: AttemptContext, end: (failure: Failure) => void): UngatedWatch {
  const { runtime } = context.job;
  const common: Pick<UngatedWatchOptions, 'evaluate' | 'found'> = {
    evaluate: createEvaluation(context.job),
    found: (call, judged, failure) => {
      const what = describeCall(call, judged, (text) => context.redactor.redact(text));
      const { actionClass } = judged;
      deny(context, { layer: 'gate', what: `ran ungated: ${what}`, actionClass, rule: 'ungated' });
      end(failure);
    },
  };
  if (runtime.adapter !== undefined || !isAcpRuntime(runtime.name, runtime.settings))
    return createUngatedWatch({ runtime, ...common });
  return createUnaskedWatch({
    ...common,
    title: runtime.name,
    isKnownToAsk: findAcpProgram(runtime.bin, runtime.settings) !== null,
    limitedBySandbox: (message) => {
      context.gathered.enforced = { ...context.gathered.enforced, toolCalls: 'sandbox only' };
      context.writer.write({ kind: 'warning', source: 'gate', message });
    },
  });
}

function grantedTools(bench: ToolBench): CoordinationTool[] {
  const { grant, paths } = bench.context.job;
  const all = [
    ...(paths.board === null ? [] : boardTools(bench, paths.board)),
    ...(paths.context === null ? [] : contextTools(bench, paths.context)),
    askTool(bench),
    dispatchTool(bench),
    handOffTool(bench),
  ];
  return all.filter(({ name }) => grant.tools.includes('*') || grant.tools.includes(name));
}
