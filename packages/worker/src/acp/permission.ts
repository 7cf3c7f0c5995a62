// Answers `session/request_permission`. The rules are the same as everywhere: the worker's gate if there is one, else
// policy itself, with `ask` lines for what a person must decide. This is the hint; the sandbox is the boundary.

import { spawn } from 'node:child_process';
import type {
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import {
  type Answers,
  type PrintLine,
  createToolGate,
  type GatedCall,
  type ToolGate,
} from '../native/index.ts';
import type { AcpConfig } from './acp-config.ts';
import { describeCall } from './describe-call.ts';

export function createPermissionHandler(config: AcpConfig, say: PrintLine, answers: Answers | null) {
  const decide = createDecision(config, say, answers);
  return async (request: RequestPermissionRequest): Promise<RequestPermissionResponse> => {
    const { tool, input } = describeCall(request.toolCall);
    const reason = await decide({ id: request.toolCall.toolCallId, tool, input });
    return answerWith(request.options, reason === null);
  };
}

function createDecision(config: AcpConfig, say: PrintLine, answers: Answers | null): ToolGate {
  const { gate } = config;
  return gate === undefined ? createToolGate(config, say, answers) : (call) => askGate(gate, call);
}

/** Permission for this one call: with `always` the agent would not ask again. */
function answerWith(options: readonly PermissionOption[], isAllowed: boolean): RequestPermissionResponse {
  const kinds = isAllowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always'];
  const chosen = kinds.flatMap((kind) => options.find((option) => option.kind === kind) ?? [])[0];
  return chosen === undefined
    ? { outcome: { outcome: 'cancelled' } }
    : { outcome: { outcome: 'selected', optionId: chosen.optionId } };
}

/** The gate's contract is in `runtimes/contract.ts`. If the gate cannot be asked, the call is denied. */
function askGate(gate: NonNullable<AcpConfig['gate']>, call: GatedCall): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn(gate.command, gate.args, { stdio: ['pipe', 'ignore', 'pipe'] });
    let reason = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (reason += chunk));
    child.once('error', (error) => resolve(`the gate cannot be started: ${error.message}`));
    child.once('close', (code) => resolve(code === 0 ? null : reason || 'the gate did not answer'));
    child.stdin.on('error', () => undefined); // a gate that has decided may stop reading
    child.stdin.end(JSON.stringify({ tool_name: call.tool, tool_input: call.input, tool_use_id: call.id }));
  });
}
