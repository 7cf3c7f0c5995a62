/**
 * Judges the agent's tool calls before they run, for every runtime that asks: hooks, plugins and extensions over the
 * socket, our own agent over its streams. The gate is the hint; the sandbox is the boundary.
 */
import { evaluate, PolicyRule, type Evaluation } from '@caisson/policy';
import type { Job } from '@caisson/protocol';
import { deny, redactForeign, type AttemptContext } from '../attempt/index.ts';
import { describeCall } from './describe-call.ts';
import type { HostRequests } from './host-requests.ts';
import type { LoopBreaker } from './loop-breaker.ts';
import { describeWholeCall, type WholeCall } from './whole-call.ts';

export interface ToolCall {
  /** As the program numbers its calls; not every program says it. */
  readonly id?: string;
  readonly tool: string;
  readonly input: unknown;
}

/** `isApproved`: a person said so. */
export type Verdict =
  | { readonly allow: true; readonly isApproved?: true }
  | { readonly allow: false; readonly reason: string };

export interface ToolGate {
  /** Resolves once the call is decided; a call that needs a person waits until then. */
  judge(call: ToolCall): Promise<Verdict>;
}

const WAY_OUT =
  'Do not try it again. If you cannot continue without it, write .caisson/needs_input.json with {"question": "…"} and stop.';

export function createToolGate(
  context: AttemptContext,
  requests: HostRequests,
  loop: Pick<LoopBreaker, 'denied'>,
): ToolGate {
  const { job, redactor } = context;
  const evaluateCall = createEvaluation(job);
  const describe = (call: ToolCall, found: Evaluation): string =>
    describeCall(call, found, (text) => redactor.redact(text));
  const refuse = (call: ToolCall, found: Evaluation, why: string): Verdict => {
    const what = describe(call, found);
    deny(context, { layer: 'gate', what, actionClass: found.actionClass, rule: found.rule });
    loop.denied(call.tool, call.input);
    return { allow: false, reason: redactor.redact(why) };
  };
  return {
    async judge(given) {
      const call = { ...given, tool: ownName(given.tool) };
      const found = evaluateCall(call);
      switch (found.decision) {
        case 'allow':
          return { allow: true };
        case 'deny':
          return refuse(call, found, explainDenial(found, job.grant.mode));
        case 'ask': {
          const answer = await askPerson(context, requests, {
            tool: call.tool.slice(0, 256),
            what: describe(call, found),
            call: describeWholeCall(call, (value) => redactForeign(redactor, value)),
            actionClass: found.actionClass,
          });
          if (answer === 'allow') return { allow: true, isApproved: true };
          return refuse(call, found, `${explainAnswer(answer, found)} ${WAY_OUT}`);
        }
      }
    },
  };
}

/** The policy's decision about a call in this run. */
export function createEvaluation(job: Job): (call: ToolCall) => Evaluation {
  const rules = job.rules.map((rule) => PolicyRule.parse(rule));
  const place = { workspace: job.workspace.cwd, home: job.sandbox.home };
  return (call) => evaluate({ mode: job.grant.mode, rules, ...call, ...place });
}

type Answer = 'allow' | 'user' | 'deadline' | 'ending';

async function askPerson(
  context: AttemptContext,
  requests: HostRequests,
  body: { tool: string; what: string; call: WholeCall; actionClass: string },
): Promise<Answer> {
  context.heldCalls += 1;
  try {
    const reply = await requests.ask('approve', body);
    const value = (reply.ok ? reply.value : null) as { decision?: unknown; by?: unknown } | null;
    if (value?.decision === 'allow') return 'allow';
    return value?.by === 'user' || value?.by === 'deadline' ? value.by : 'ending';
  } finally {
    context.heldCalls -= 1;
  }
}

/** Programs put their own prefix before the tools of our server; policy knows one of them. */
function ownName(tool: string): string {
  return tool.replace(/^mcp_+caisson_+(?=[a-z])/, 'mcp__caisson__');
}

function explainDenial(found: Evaluation, mode: string): string {
  const why =
    found.reason === undefined ? `${found.actionClass} is not allowed in mode ${mode}` : found.reason;
  return `Denied by policy: ${why} (${found.rule}: ${found.cause}). ${WAY_OUT}`;
}

function explainAnswer(answer: Answer, found: Evaluation): string {
  const how = {
    user: 'a person was asked and said no',
    deadline: 'a person was asked and did not answer in time',
    allow: '',
    ending: 'no person could be asked',
  };
  return `Denied: ${found.actionClass} needs approval, and ${how[answer]}.`;
}
