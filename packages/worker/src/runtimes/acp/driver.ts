// Any Agent Client Protocol agent. Our own client (`acp/acp-client.ts`) runs inside the sandbox, starts the agent and
// reports its actions as the native agent's lines. A known program uses the settings of its own driver, set so that it
// asks before every call; any other gets endpoint, key and model in the variables that `settings.env` names.

import { fileURLToPath } from 'node:url';
import { findAcpProgram } from '@caisson/protocol';
import type { AgentCommand, AgentStream, DriverInput, RuntimeDriver } from '../contract.ts';
import { createNativeStream } from '../native/stream.ts';
import { objectOf } from '../json-line.ts';
import { maskSettings } from '../project-settings.ts';

const CONFIG = '.caisson/acp.json';
/** Beside the worker's bundle; in a clone, the source. */
const CLIENT = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../acp/acp-client.ts' : './acp-client.mjs', import.meta.url),
);

/** `findInner` returns the driver whose settings a known program shares. */
export const createAcpDriver = (
  findInner: (program: string) => RuntimeDriver | null,
): RuntimeDriver<'acp'> => ({
  name: 'acp',
  command: (input): AgentCommand => {
    const known = findAcpProgram(input.bin, input.settings);
    const inner = known === null ? null : findInner(known.program);
    const own = inner?.command(innerInput(input));
    const config = configOf(input, [...(known?.args ?? []), ...(inner?.overAcp?.args?.(input) ?? [])]);
    return {
      argv: [process.execPath, CLIENT, `${input.home}/${CONFIG}`],
      env: { ...own?.env, ...inner?.overAcp?.env, ...settingsEnv(input) },
      stdin: input.canAsk === true ? '' : null,
      keepsStdinOpen: input.canAsk === true,
      kept: own?.kept ?? [],
      ...(known === null ? {} : { masks: maskSettings(input, known.program) }),
      files: [...(own?.files ?? []), { path: `${input.home}/${CONFIG}`, content: JSON.stringify(config) }],
    };
  },
  createStream: (): AgentStream => createNativeStream(),
});

/** Gate, tools, system prompt and session go over ACP, so the program's own settings must not have them too. */
function innerInput(input: DriverInput): DriverInput {
  const { gate: _gate, mcp: _mcp, systemPrompt: _system, resume: _resume, canAsk: _canAsk, ...rest } = input;
  return { ...rest, mode: 'full-auto', projectServers: [] };
}

/** `settings.args` replaces the known arguments; `rules`, `fs` and `authMethod` are for the client. */
function configOf(input: DriverInput, knownArgs: readonly string[]): unknown {
  const { args, rules, fs, authMethod } = input.settings;
  return {
    agent: { command: input.bin, args: listOfWords(args) ?? knownArgs },
    prompt: input.prompt,
    freshPrompt: input.freshPrompt,
    systemPrompt: input.systemPrompt,
    model: input.model,
    mode: input.mode,
    rules,
    workspace: input.workspace,
    home: input.home,
    gate: input.gate,
    canAsk: input.canAsk === true,
    mcp: input.mcp === undefined ? undefined : { ...input.mcp, socketPath: undefined },
    resume: input.resume?.sessionId,
    fs: fs === true,
    authMethod: typeof authMethod === 'string' ? authMethod : undefined,
  };
}

const listOfWords = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.every((word): word is string => typeof word === 'string') ? value : undefined;

/**
 * `{endpoint}`, `{key}` and `{model}` are replaced by the run's values; a variable that needs a missing one is left
 * out.
 */
function settingsEnv(input: DriverInput): Record<string, string> {
  const words: Readonly<Record<string, string | undefined>> = {
    endpoint: input.endpoint?.baseUrl,
    key: input.endpoint?.apiKey,
    model: input.model,
  };
  const entries = Object.entries(objectOf(input.settings['env'])).flatMap(([name, template]) => {
    if (typeof template !== 'string') return [];
    const needed = [...template.matchAll(/\{(endpoint|key|model)\}/g)].map(([, word = '']) => words[word]);
    if (needed.includes(undefined)) return [];
    return [[name, template.replaceAll(/\{(endpoint|key|model)\}/g, (_, word: string) => words[word] ?? '')]];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}
