// Pi. Provider and model in a models.json of its own, the prompt over stdin, sessions in the kept folder.
// It has no permissions of its own: `suggest` offers reading tools only, and the gate is an extension that we lay
// into its HOME. A handler that fails blocks the call, so the gate fails closed.

import type { AgentCommand, AgentFile, AgentStream, DriverInput, RuntimeDriver } from './contract.ts';
import { createPiStream } from './pi-stream.ts';
import { sessionFolder } from './session-folder.ts';

const READING_TOOLS = 'read,grep,find,ls';
const ALL_TOOLS = 'read,grep,find,ls,bash,edit,write';
const DEFAULT_MODEL = 'claude-opus-5-5';
const PROVIDER = 'caisson';
const KEY_VARIABLE = 'CAISSON_MODEL_KEY';

export const pi: RuntimeDriver = {
  name: 'pi',
  command: (input): AgentCommand => ({
    argv: argvOf(input),
    env: {
      PI_CODING_AGENT_DIR: agentFolder(input),
      PI_OFFLINE: '1',
      PI_TELEMETRY: '0',
      ...(input.endpoint === undefined ? {} : { [KEY_VARIABLE]: input.endpoint.apiKey }),
    },
    stdin: input.prompt,
    files: filesOf(input),
  }),
  createStream: (): AgentStream => createPiStream(),
};

const agentFolder = (input: DriverInput): string => `${input.home}/.pi/agent`;
const gateFile = (input: DriverInput): string => `${agentFolder(input)}/caisson-gate.mjs`;
const promptFile = (input: DriverInput): string => `${agentFolder(input)}/caisson-system-prompt.md`;

function argvOf(input: DriverInput): readonly string[] {
  return [
    input.bin,
    '--mode',
    'json',
    '--print',
    '--no-extensions',
    '--no-approve',
    '--session-dir',
    `${sessionFolder(input.home)}/pi`,
    '--tools',
    input.mode === 'suggest' ? READING_TOOLS : ALL_TOOLS,
    ...(input.endpoint === undefined ? [] : ['--provider', PROVIDER]),
    ...(input.endpoint === undefined && input.model === undefined
      ? []
      : ['--model', input.model ?? DEFAULT_MODEL]),
    ...(input.systemPrompt === undefined ? [] : ['--append-system-prompt', promptFile(input)]),
    ...(input.gate === undefined ? [] : ['--extension', gateFile(input)]),
    ...(input.resume === undefined ? [] : ['--session', input.resume.sessionId]),
  ];
}

function filesOf(input: DriverInput): readonly AgentFile[] {
  const files: AgentFile[] = [
    { path: `${agentFolder(input)}/settings.json`, content: JSON.stringify(settings()) },
  ];
  if (input.endpoint !== undefined) {
    files.push({
      path: `${agentFolder(input)}/models.json`,
      content: JSON.stringify(modelsOf(input, input.endpoint.baseUrl)),
    });
  }
  if (input.systemPrompt !== undefined) files.push({ path: promptFile(input), content: input.systemPrompt });
  if (input.gate !== undefined) files.push({ path: gateFile(input), content: gateExtension(input.gate) });
  return files;
}

/** The host retries with its own backoff. */
const settings = (): unknown => ({
  enableInstallTelemetry: false,
  quietStartup: true,
  retry: { enabled: true, maxRetries: 2, baseDelayMs: 1000 },
});

function modelsOf(input: DriverInput, baseUrl: string): unknown {
  const model = { id: input.model ?? DEFAULT_MODEL };
  return {
    providers: {
      [PROVIDER]: { baseUrl, api: 'anthropic-messages', apiKey: `$${KEY_VARIABLE}`, models: [model] },
    },
  };
}

function gateExtension(gate: NonNullable<DriverInput['gate']>): string {
  return `import { spawnSync } from 'node:child_process';
export default function (pi) {
  pi.on('tool_call', (event) => {
    const input = JSON.stringify({ tool_name: event.toolName, tool_input: event.input, tool_use_id: event.toolCallId });
    const gate = spawnSync(${JSON.stringify(gate.command)}, ${JSON.stringify(gate.args)}, { input, encoding: 'utf8' });
    if (gate.status !== 0) return { block: true, reason: gate.stderr || 'the gate did not answer' };
  });
}
`;
}
