// Pi. Provider and model in a separate models.json, the prompt over stdin, conversations in the kept folder. It has no
// permissions: `suggest` offers reading tools only, and the gate is our extension in its HOME. A handler that fails
// blocks the call, so the gate fails closed.

import type { AgentCommand, AgentFile, AgentStream, DriverInput, RuntimeDriver } from '../contract.ts';
import { createPiStream } from './stream.ts';
import { piExtension } from './extension.ts';
import { samplingOf } from '../sampling.ts';
import { sessionFolder } from '../session-folder.ts';

const READING_TOOLS = 'read,grep,find,ls';
const ALL_TOOLS = 'read,grep,find,ls,bash,edit,write';
const DEFAULT_MODEL = 'claude-opus-5-5';
const PROVIDER = 'caisson';
/** The provider of its log-in that we know. */
const LOGIN_PROVIDER = 'anthropic';

export const pi: RuntimeDriver<'pi'> = {
  name: 'pi',
  command: (input): AgentCommand => ({
    argv: argvOf(input),
    env: {
      PI_CODING_AGENT_DIR: agentFolder(input),
      PI_OFFLINE: '1',
      PI_TELEMETRY: '0',
    },
    stdin: input.prompt,
    files: filesOf(input),
  }),
  createStream: (): AgentStream => createPiStream(),
};

const providerOf = ({ usesLogin }: DriverInput): string => (usesLogin === true ? LOGIN_PROVIDER : PROVIDER);
const agentFolder = (input: DriverInput): string => `${input.home}/.pi/agent`;
const extensionFile = (input: DriverInput): string => `${agentFolder(input)}/caisson.mjs`;
const needsExtension = (input: DriverInput): boolean =>
  input.gate !== undefined || input.mcp !== undefined || Object.keys(samplingOf(input)).length > 0;
const promptFile = (input: DriverInput): string => `${agentFolder(input)}/caisson-system-prompt.md`;

function argvOf(input: DriverInput): readonly string[] {
  return [
    input.bin,
    '--mode',
    'json',
    '--print',
    '--no-extensions',
    '--session-dir',
    `${sessionFolder(input.home)}/pi`,
    ...toolsOf(input),
    ...(input.endpoint === undefined ? [] : ['--provider', providerOf(input)]),
    ...(input.endpoint === undefined && input.model === undefined
      ? []
      : ['--model', input.model ?? DEFAULT_MODEL]),
    ...(input.systemPrompt === undefined ? [] : ['--append-system-prompt', promptFile(input)]),
    ...(needsExtension(input) ? ['--extension', extensionFile(input)] : []),
    ...(input.resume === undefined ? [] : ['--session', input.resume.sessionId]),
  ];
}

/** An allowlist would hide the coordination tools, whose names only the server knows; then the extension chooses. */
function toolsOf(input: DriverInput): readonly string[] {
  if (input.mcp !== undefined) return [];
  return ['--tools', input.mode === 'suggest' ? READING_TOOLS : ALL_TOOLS];
}

function filesOf(input: DriverInput): readonly AgentFile[] {
  const files: AgentFile[] = [
    { path: `${agentFolder(input)}/settings.json`, content: JSON.stringify(settings()) },
  ];
  if (input.endpoint !== undefined) {
    files.push({
      path: `${agentFolder(input)}/models.json`,
      content: JSON.stringify(modelsOf(input, input.endpoint)),
    });
  }
  if (input.systemPrompt !== undefined) files.push({ path: promptFile(input), content: input.systemPrompt });
  if (needsExtension(input)) files.push({ path: extensionFile(input), content: piExtension(input) });
  return files;
}

/**
 * The host retries with its own backoff. Settings and not flags if both exist: a version ignores an unknown setting and
 * refuses an unknown flag.
 */
const settings = (): unknown => ({
  // A repo's own settings and packages are not loaded; before 0.79 Pi did not ask.
  defaultProjectTrust: 'never',
  enableInstallTelemetry: false,
  quietStartup: true,
  retry: { enabled: true, maxRetries: 2, baseDelayMs: 1000 },
});

/** The key is the placeholder, so it may be here; how a variable is named differs from version to version. */
function modelsOf(input: DriverInput, endpoint: NonNullable<DriverInput['endpoint']>): unknown {
  // Of a provider that it knows only the address changes: its models and its log-in stay.
  if (input.usesLogin === true) return { providers: { [LOGIN_PROVIDER]: { baseUrl: endpoint.baseUrl } } };
  const models = [{ id: input.model ?? DEFAULT_MODEL }];
  return { providers: { [PROVIDER]: { ...endpoint, api: 'anthropic-messages', models } } };
}
