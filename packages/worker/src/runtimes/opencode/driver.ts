// opencode. All settings are in one config file that the environment names; the prompt goes over stdin; its data folder
// is in the kept folder. Our plugin throws before a tool that the gate denies, and reports retries, which its own
// stream does not: without it an overloaded model looks like a silent one.

import type {
  AgentCommand,
  AgentFile,
  AgentStream,
  DriverInput,
  McpServer,
  RuntimeDriver,
} from '../contract.ts';
import { createOpencodeStream } from './stream.ts';
import { samplingOf } from '../sampling.ts';
import { sessionFolder } from '../session-folder.ts';

const CONFIG = '.caisson/opencode.json';
/** Not beside the rest, which is read-only: it writes there. */
const CONFIG_HOME = '.config';
const INSTRUCTIONS = '.caisson/opencode-instructions.md';
const PLUGIN = '.caisson/opencode-plugin.mjs';
const PROVIDER = 'caisson';
const DEFAULT_MODEL = 'gpt-5';
const KEY_VARIABLE = 'CAISSON_MODEL_KEY';
const TOOL_TIMEOUT_MS = 86_400_000;

/**
 * At every start opencode installs its plugin package from npm into its config folder, and waits for it once there is a
 * plugin: ten seconds, and a request that is not to the model. It looks for a lock file that names the package.
 */
const INSTALLED: readonly (readonly [string, string])[] = [
  ['package.json', JSON.stringify({ dependencies: { '@opencode-ai/plugin': '*' } })],
  [
    'package-lock.json',
    JSON.stringify({ packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } } }),
  ],
  ['node_modules/.keep', ''],
];

/** A headless run cannot be asked, so every `ask` is decided here. */
const PERMISSIONS = {
  suggest: { edit: 'deny', bash: 'deny', webfetch: 'deny', external_directory: 'deny', doom_loop: 'deny' },
  'auto-edit': {
    edit: 'allow',
    bash: 'allow',
    webfetch: 'allow',
    external_directory: 'deny',
    doom_loop: 'deny',
  },
  'full-auto': {
    edit: 'allow',
    bash: 'allow',
    webfetch: 'allow',
    external_directory: 'allow',
    doom_loop: 'deny',
  },
} as const;

export const opencode: RuntimeDriver<'opencode'> = {
  name: 'opencode',
  command: (input): AgentCommand => ({
    argv: argvOf(input),
    env: envOf(input),
    stdin: input.prompt,
    stdout: 'file',
    files: filesOf(input),
  }),
  overAcp: {
    env: {
      OPENCODE_PERMISSION: JSON.stringify({ edit: 'ask', bash: 'ask', webfetch: 'ask' }),
      // The model should see a denied call, which must not end the turn; and a title costs an extra request.
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        experimental: { continue_loop_on_deny: true },
        agent: { title: { disable: true } },
      }),
    },
  },
  createStream: (): AgentStream => createOpencodeStream(),
};

const modelOf = (input: DriverInput): string => input.model ?? DEFAULT_MODEL;

function argvOf(input: DriverInput): readonly string[] {
  const model = input.endpoint === undefined ? input.model : `${PROVIDER}/${modelOf(input)}`;
  return [
    input.bin,
    'run',
    '--format',
    'json',
    // A given title saves the extra request for one, which no event counts.
    '--title',
    'caisson',
    ...(model === undefined ? [] : ['--model', model]),
    ...(input.resume === undefined ? [] : ['--session', input.resume.sessionId]),
  ];
}

function envOf(input: DriverInput): Record<string, string> {
  const kept = `${sessionFolder(input.home)}/opencode`;
  const { maxTokens } = samplingOf(input);
  return {
    OPENCODE_CONFIG: `${input.home}/${CONFIG}`,
    XDG_CONFIG_HOME: `${input.home}/${CONFIG_HOME}`,
    XDG_DATA_HOME: `${kept}/data`,
    XDG_STATE_HOME: `${kept}/state`,
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    OPENCODE_DISABLE_SHARE: '1',
    // A repo's own config could allow what the mode denies.
    OPENCODE_DISABLE_PROJECT_CONFIG: '1',
    ...(maxTokens === undefined ? {} : { OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX: String(maxTokens) }),
    ...(input.endpoint === undefined ? {} : { [KEY_VARIABLE]: input.endpoint.apiKey }),
  };
}

function filesOf(input: DriverInput): readonly AgentFile[] {
  const file = (path: string, content: string): AgentFile => ({ path: `${input.home}/${path}`, content });
  const files = [file(CONFIG, JSON.stringify(configOf(input))), file(PLUGIN, pluginOf(input))];
  for (const [path, content] of INSTALLED) files.push(file(`${CONFIG_HOME}/opencode/${path}`, content));
  if (input.systemPrompt !== undefined) files.push(file(INSTRUCTIONS, input.systemPrompt));
  return files;
}

function configOf(input: DriverInput): unknown {
  const { temperature } = samplingOf(input);
  return {
    autoupdate: false,
    share: 'disabled',
    snapshot: false,
    permission: PERMISSIONS[input.mode],
    ...(input.endpoint === undefined ? {} : providerOf(modelOf(input), input.endpoint.baseUrl)),
    ...(temperature === undefined ? {} : { agent: { build: { temperature } } }),
    // With the repo's config its AGENTS.md is switched off too; that one is wanted.
    instructions: [
      `${input.workspace}/AGENTS.md`,
      ...(input.systemPrompt === undefined ? [] : [`${input.home}/${INSTRUCTIONS}`]),
    ],
    plugin: [`file://${input.home}/${PLUGIN}`],
    mcp: serversOf(input),
  };
}

function providerOf(model: string, baseURL: string): Record<string, unknown> {
  return {
    model: `${PROVIDER}/${model}`,
    small_model: `${PROVIDER}/${model}`,
    provider: {
      [PROVIDER]: {
        npm: '@ai-sdk/openai-compatible',
        name: 'caisson',
        options: { baseURL, apiKey: `{env:${KEY_VARIABLE}}` },
        // It sends a temperature only to models that are declared to support one.
        models: { [model]: { name: model, temperature: true } },
      },
    },
  };
}

/** Ours comes last, so that no other replaces it. */
function serversOf({ mcp, projectServers = [] }: DriverInput): Record<string, unknown> {
  const others = projectServers.map(({ name, ...server }) => [name, mcpOf(server)] as const);
  return { ...Object.fromEntries(others), ...(mcp === undefined ? {} : { caisson: mcpOf(mcp) }) };
}

const mcpOf = (mcp: McpServer): unknown => ({
  type: 'local',
  command: [mcp.command, ...mcp.args],
  environment: mcp.env,
  enabled: true,
  // A dispatched agent may work for long; the run's own deadline ends the wait.
  timeout: TOOL_TIMEOUT_MS,
});

function pluginOf({ gate, projectServers = [] }: DriverInput): string {
  const names = projectServers.map(({ name }) => name);
  const hook = gate === undefined ? '' : gateHook(gate, names);
  return `import { spawnSync } from 'node:child_process';
export const Caisson = async () => ({
  event: async ({ event }) => {
    const status = event.properties?.status;
    if (event.type !== 'session.status' || status?.type !== 'retry') return;
    const line = { type: 'caisson_retry', attempt: status.attempt, message: status.message };
    process.stdout.write(JSON.stringify(line) + '\\n');
  },
${hook}});
`;
}

/** It puts a server's name before its tool's, so a server `read` with a tool `file` would look like a read. */
function gateHook(gate: NonNullable<DriverInput['gate']>, servers: readonly string[]): string {
  return `  'tool.execute.before': async ({ tool, callID }, { args }) => {
    const server = ${JSON.stringify(servers)}.find((name) => tool.startsWith(name + '_'));
    const name = server === undefined ? tool : 'mcp__' + server + '__' + tool.slice(server.length + 1);
    const input = JSON.stringify({ tool_name: name, tool_input: args, tool_use_id: callID });
    const gate = spawnSync(${JSON.stringify(gate.command)}, ${JSON.stringify(gate.args)}, { input, encoding: 'utf8' });
    if (gate.status !== 0) throw new Error(gate.stderr || 'the gate did not answer');
  },
`;
}
