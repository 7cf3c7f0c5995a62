// Codex. All settings are in a separate config.toml; the prompt goes over stdin. Its sandbox and its approvals are
// switched off in every mode: they fail inside ours, and ours applies. `suggest` relies on the read-only workspace and,
// if there is a gate, on its answer before each call.

import { definedOnly } from '@caisson/protocol';
import type { AgentCommand, AgentFile, AgentStream, DriverInput, RuntimeDriver } from '../contract.ts';
import { createCodexStream } from './stream.ts';
import { gateLine } from '../session-folder.ts';

const KEY_VARIABLE = 'CAISSON_MODEL_KEY';
const TOOL_TIMEOUT_S = 86_400;

export const codex: RuntimeDriver<'codex'> = {
  name: 'codex',
  command: (input): AgentCommand => ({
    argv: argvOf(input),
    env: {
      CODEX_HOME: codexHome(input),
      ...(input.endpoint === undefined || input.usesLogin === true
        ? {}
        : { [KEY_VARIABLE]: input.endpoint.apiKey }),
    },
    stdin: input.prompt,
    files: filesOf(input),
    kept: [`${codexHome(input)}/sessions`],
  }),
  createStream: (start): AgentStream => createCodexStream(start?.resume?.usage),
};

/** Its usual folder, which may have a mounted log-in, too; only the sessions are kept. */
const codexHome = (input: DriverInput): string => `${input.home}/.codex`;

function argvOf(input: DriverInput): readonly string[] {
  return [
    input.bin,
    'exec',
    ...(input.resume === undefined ? [] : ['resume']),
    '--json',
    '--skip-git-repo-check',
    '--dangerously-bypass-approvals-and-sandbox',
    // As a flag and not in the config: an untrusted hook is skipped silently, and a version that does not know the flag
    // cannot be gated and must not start.
    ...(input.gate === undefined ? [] : ['--dangerously-bypass-hook-trust']),
    ...(input.model === undefined ? [] : ['--model', input.model]),
    ...(input.resume === undefined ? [] : [input.resume.sessionId]),
    '-',
  ];
}

function filesOf(input: DriverInput): readonly AgentFile[] {
  const file = (name: string, content: string): AgentFile => ({
    path: `${codexHome(input)}/${name}`,
    content,
  });
  const files = [file('config.toml', toToml(configOf(input)))];
  if (input.gate !== undefined) files.push(file('hooks.json', JSON.stringify(hooksOf(input.gate))));
  return files;
}

type TomlValue = string | number | boolean | readonly string[] | { readonly [key: string]: TomlValue };

function configOf(input: DriverInput): Record<string, TomlValue> {
  return {
    check_for_update_on_startup: false,
    ...definedOnly({ developer_instructions: input.systemPrompt }),
    ...(input.endpoint === undefined ? {} : { model_provider: 'caisson' }),
    analytics: { enabled: false },
    feedback: { enabled: false },
    history: { persistence: 'none' },
    features: {
      plugins: false,
      apps: false,
      remote_plugin: false,
      plugin_discovery_prefetch: false,
      // Sub-agents spend tokens that `turn.completed` does not count.
      multi_agent: false,
      hooks: input.gate !== undefined,
    },
    // The agent's commands get its environment, not the model's key.
    shell_environment_policy: { exclude: [KEY_VARIABLE] },
    projects: { [input.workspace]: { trust_level: 'trusted' } },
    ...(input.endpoint === undefined
      ? {}
      : { model_providers: { caisson: providerOf(input.endpoint.baseUrl, input.usesLogin === true) } }),
    mcp_servers: serversOf(input),
  };
}

function providerOf(baseUrl: string, usesLogin: boolean): Record<string, TomlValue> {
  return {
    name: 'caisson',
    base_url: baseUrl,
    ...(usesLogin ? { requires_openai_auth: true } : { env_key: KEY_VARIABLE }),
    wire_api: 'responses',
    // The host retries with its own backoff; codex alone posted 30 times in 25 s.
    request_max_retries: 1,
    stream_max_retries: 2,
  };
}

/** Ours comes last, so that no other replaces it. */
function serversOf({ mcp, projectServers = [] }: DriverInput): Record<string, TomlValue> {
  const others = projectServers.map(
    ({ name, command, args, env }) => [name, { command, args, env }] as const,
  );
  return { ...Object.fromEntries(others), ...(mcp === undefined ? {} : { caisson: mcpOf(mcp) }) };
}

const mcpOf = (mcp: NonNullable<DriverInput['mcp']>): Record<string, TomlValue> => ({
  command: mcp.command,
  args: mcp.args,
  env: mcp.env,
  // A dispatched agent may work for long; the run's own deadline ends the wait.
  tool_timeout_sec: TOOL_TIMEOUT_S,
});

function hooksOf(gate: NonNullable<DriverInput['gate']>): unknown {
  const command = gateLine(gate);
  return { hooks: { PreToolUse: [{ matcher: '.*', hooks: [{ type: 'command', command, timeout: 330 }] }] } };
}

/** Enough TOML for the table above: scalars first, then one section a nested object. */
function toToml(table: Readonly<Record<string, TomlValue>>, path: readonly string[] = []): string {
  const entries = Object.entries(table);
  const isTable = (value: TomlValue): value is { readonly [key: string]: TomlValue } =>
    typeof value === 'object' && !Array.isArray(value);
  const scalars = entries
    .filter(([, value]) => !isTable(value))
    .map(([key, value]) => `${tomlKey(key)} = ${JSON.stringify(value)}`);
  const head = path.length > 0 ? [`[${path.map(tomlKey).join('.')}]`] : [];
  const sections = entries
    .map(([key, value]) => (isTable(value) ? toToml(value, [...path, key]) : ''))
    .filter(Boolean);
  return [...head, ...scalars, '', ...sections].join('\n');
}

const tomlKey = (key: string): string => (/^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key));
