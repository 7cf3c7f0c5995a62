// The policy check inside the agent: every tool call is judged before it runs. This is the hint; the sandbox is the
// boundary.

import type { Answers } from './answers.ts';
import type { Judge, JudgeConfig } from './judge.ts';
import type { PrintLine } from './native-lines.ts';

export interface GatedCall {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
}

/** `null` allows the call; a text is the reason of a denial, for the model. */
export type ToolGate = (call: GatedCall) => Promise<string | null>;

export function createToolGate(config: JudgeConfig, say: PrintLine, answers: Answers | null): ToolGate {
  let judge: Promise<Judge> | undefined;
  return async (call) => {
    const verdict = (await (judge ??= loadJudge(config)))(call);
    if (verdict.decision === 'allow') return null;
    const { actionClass, rule, cause } = verdict;
    if (verdict.decision === 'ask' && answers !== null) {
      say({ type: 'ask', ...call, actionClass, rule });
      if ((await answers.wait(call.id)) === 'allow') return null;
    }
    say({ type: 'denied', ...call, actionClass, rule, cause });
    const why = verdict.reason === undefined ? '' : ` ${verdict.reason}`;
    return `Denied by policy: ${actionClass} is not allowed in mode ${config.mode} (${rule}: ${cause}).${why} Do not try it again.`;
  };
}

async function loadJudge(config: JudgeConfig): Promise<Judge> {
  const { createJudge } = await import('./judge.ts');
  return createJudge(config);
}
