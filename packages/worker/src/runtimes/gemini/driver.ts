// Gemini CLI. Settings and rules in its usual folder in the private HOME, of which the chats are kept; the prompt goes
// over stdin. (System settings would outrank a repo's, but are skipped if a parent folder is writable.)

import type { AgentCommand, AgentFile, AgentStream, DriverInput, RuntimeDriver } from '../contract.ts';
import { createGeminiStream } from './stream.ts';
import { samplingOf } from '../sampling.ts';
import { gateLine, stdioServers } from '../session-folder.ts';

const SETTINGS = '.gemini/settings.json';
const POLICY = '.gemini/policies/caisson.toml';
/** Named, because `auto` asks a second model which model to ask. */
const DEFAULT_MODEL = 'gemini-2.5-pro';
const GATE_TIMEOUT_MS = 330_000;
/** A dispatched agent may work for long; the run's own deadline ends the wait. */
const TOOL_TIMEOUT_MS = 86_400_000;

const APPROVAL = { suggest: 'default', 'auto-edit': 'auto_edit', 'full-auto': 'yolo' } as const;

/** A user's rule outranks the program's own; a workspace has none. */
const RULES = {
  suggest: [{ tools: ['write_file', 'replace', 'run_shell_command', 'web_fetch'], decision: 'deny' }],
  'auto-edit': [{ tools: ['run_shell_command', 'web_fetch'], decision: 'allow' }],
  'full-auto': [],
} as const;

export const gemini: RuntimeDriver<'gemini'> = {
  name: 'gemini',
  command: (input): AgentCommand => ({
    argv: argvOf(input),
    env: envOf(input),
    stdin: input.prompt,
    stdout: 'file',
    files: filesOf(input),
    // Only its chats: its usual folder may have a mounted log-in, too.
    kept: [`${input.home}/.gemini/tmp`],
  }),
  overAcp: { args: ({ model }) => ['--approval-mode', 'default', '--model', model ?? DEFAULT_MODEL] },
  createStream: (): AgentStream => createGeminiStream(),
};

function argvOf(input: DriverInput): readonly string[] {
  return [
    input.bin,
    '--output-format',
    'stream-json',
    '--approval-mode',
    APPROVAL[input.mode],
    '--model',
    input.model ?? DEFAULT_MODEL,
    ...(input.resume === undefined ? [] : ['--resume', input.resume.sessionId]),
  ];
}

function envOf(input: DriverInput): Record<string, string> {
  return {
    // Without it the program starts itself a second time, and the first one survives SIGTERM.
    GEMINI_CLI_NO_RELAUNCH: 'true',
    // As a variable and not as a flag: older versions refuse flags that they do not know.
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    ...(input.endpoint === undefined
      ? {}
      : { GOOGLE_GEMINI_BASE_URL: input.endpoint.baseUrl, GEMINI_API_KEY: input.endpoint.apiKey }),
  };
}

function filesOf(input: DriverInput): readonly AgentFile[] {
  const files: AgentFile[] = [
    { path: `${input.home}/${SETTINGS}`, content: JSON.stringify(settingsOf(input)) },
    { path: `${input.home}/${POLICY}`, content: policyOf(input) },
  ];
  if (input.systemPrompt !== undefined) {
    files.push({ path: `${input.home}/.gemini/GEMINI.md`, content: input.systemPrompt });
  }
  return files;
}

function settingsOf(input: DriverInput): unknown {
  return {
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false, maxAttempts: 3 },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    // A sub-agent's calls wait for a confirmation that no one can give; `dispatch` is the way to use other agents.
    experimental: { enableAgents: false },
    // Its own loop detection would end a turn, as a success, before our gate has seen the call often enough.
    model: { disableLoopDetection: true },
    ...modelConfigsOf(input),
    ...authOf(input),
    mcpServers: stdioServers(input, { trust: true, timeout: TOOL_TIMEOUT_MS }),
    ...(input.gate === undefined ? {} : { hooksConfig: { enabled: true }, hooks: hooksOf(input.gate) }),
  };
}

function authOf({ endpoint, usesLogin }: DriverInput): Record<string, unknown> {
  if (usesLogin === true) return { security: { auth: { selectedType: 'oauth-personal' } } };
  return endpoint === undefined ? {} : { security: { auth: { selectedType: 'gemini-api-key' } } };
}

/** Matched by the model's name: an override that names nothing is never applied. */
function modelConfigsOf(input: DriverInput): Record<string, unknown> {
  const { maxTokens, temperature } = samplingOf(input);
  if (maxTokens === undefined && temperature === undefined) return {};
  const override = {
    match: { model: input.model ?? DEFAULT_MODEL },
    modelConfig: { generateContentConfig: { temperature, maxOutputTokens: maxTokens } },
  };
  return { modelConfigs: { customOverrides: [override] } };
}

function hooksOf(gate: NonNullable<DriverInput['gate']>): unknown {
  const command = gateLine(gate);
  const hook = { type: 'command', name: 'caisson', command, timeout: GATE_TIMEOUT_MS };
  return { BeforeTool: [{ matcher: '.*', hooks: [hook] }] };
}

function policyOf(input: DriverInput): string {
  const own = RULES[input.mode].flatMap(({ tools, decision }) => tools.map((tool) => ({ tool, decision })));
  const servers = input.mode === 'suggest' ? [] : (input.projectServers ?? []);
  const rules = [
    ...own,
    ...['caisson', ...servers.map(({ name }) => name)].map((name) => ({
      tool: `mcp_${name}_*`,
      decision: 'allow',
    })),
  ];
  return rules
    .map(({ tool, decision }) => `[[rule]]\ntoolName = "${tool}"\ndecision = "${decision}"\npriority = 900\n`)
    .join('\n');
}
