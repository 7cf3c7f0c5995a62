// The native agent: our own bundled entry (`native/native-agent.ts`), started like any other program inside the
// sandbox. `bin` is the entry; it runs with the Node of the worker. Everything it needs is in one file in its HOME.

import type { AgentCommand, AgentStream, DriverInput, RuntimeDriver } from '../contract.ts';
import { createNativeStream } from './stream.ts';
import { samplingOf } from '../sampling.ts';
import { sessionFolder } from '../session-folder.ts';

const CONFIG = '.caisson/native.json';
const DEFAULT_MODEL = 'claude-opus-5-5';

export const native: RuntimeDriver<'native'> = {
  name: 'native',
  command: (input): AgentCommand => ({
    argv: [process.execPath, input.bin, `${input.home}/${CONFIG}`],
    env: {},
    stdin: input.canAsk === true ? '' : null,
    keepsStdinOpen: input.canAsk === true,
    masks: [], // it reads no settings of a repository
    files: [{ path: `${input.home}/${CONFIG}`, content: JSON.stringify(configOf(input)) }],
  }),
  createStream: (): AgentStream => createNativeStream({ takesMessages: true }),
};

/** `settings.api`, `settings.rules`, `settings.tools` and `settings.maxTurns` come from the runtime's config. */
function configOf(input: DriverInput): unknown {
  const { api, rules, tools, maxTurns } = input.settings;
  return {
    prompt: input.prompt,
    systemPrompt: input.systemPrompt,
    model: input.model ?? DEFAULT_MODEL,
    api: api ?? 'anthropic-messages',
    baseUrl: input.endpoint?.baseUrl ?? '',
    apiKey: input.endpoint?.apiKey ?? '',
    mode: input.mode,
    rules,
    workspace: input.workspace,
    home: input.home,
    tools,
    maxTurns,
    ...samplingOf(input),
    sessionFolder: `${sessionFolder(input.home)}/native`,
    resume: input.resume?.sessionId,
    mcpSocket: input.mcp?.socketPath,
    canAsk: input.canAsk === true,
  };
}
