// The native agent: a bundled entry that runs inside the sandbox. It embeds the pi agent loop, offers seven tools and
// the coordination server's, has every call judged by policy before it runs, and reports events as NDJSON on stdout.
//
//   node native-agent.mjs [CONFIG.json]      (without a path the config is read from descriptor 3)
//
// N1  No tool runs before the gate has answered for exactly that call.
// N2  Exactly one `done` or `error` line is printed, and it is the last one. The exit code is 0 either way: the lines
//     report the ending.

import { definedOnly } from '@caisson/protocol';
import { randomUUID } from 'node:crypto';
import {
  runAgentLoop,
  type AgentEvent,
  type AgentLoopConfig,
  type AgentTool,
} from '@earendil-works/pi-agent-core';
import { createAnswers } from './answers.ts';
import { connectMcp } from './mcp-client.ts';
import { describeModel, loadStream } from './model-stream.ts';
import { readNativeConfig, type NativeConfig } from './native-config.ts';
import { printLine, type PrintLine } from './native-lines.ts';
import { systemPromptFor } from './system-prompt.ts';
import { retryCutStreams } from './retry-cut-streams.ts';
import { createToolGate, type ToolGate } from './tool-gate.ts';
import { createReporter } from './reporter.ts';
import { openTranscript, type Transcript } from './transcript.ts';
import { coordinationTools } from './tools/coordination-tools.ts';
import { bashTool, findTool, grepTool } from './tools/command-tools.ts';
import { editTool, lsTool, readTool, writeTool } from './tools/file-tools.ts';
import type { ToolPlace } from './tools/native-tool.ts';

const TOOLS = [readTool, writeTool, editTool, bashTool, grepTool, findTool, lsTool];
const MAX_RETRIES = 2;

async function main(): Promise<void> {
  const config = readNativeConfig(process.argv[2]);
  const stop = new AbortController();
  process.once('SIGTERM', () => stop.abort(new Error('SIGTERM')));
  const answers = config.canAsk === true ? createAnswers(process.stdin) : null;
  const mcp = config.mcpSocket === undefined ? null : await connectMcp(config.mcpSocket);
  const reporter = createReporter(printLine);
  const transcript = openTranscript(config.sessionFolder, config.resume, randomUUID());
  printLine({ type: 'session', id: transcript.sessionId });
  try {
    const tools = [...toolsFor(config), ...(mcp === null ? [] : await coordinationTools(mcp))];
    const gate = createToolGate(config, printLine, answers);
    const takeMessages = () => answers?.takeMessages() ?? [];
    await runLoop({
      config,
      tools,
      gate,
      transcript,
      takeMessages,
      report: reporter.report,
      signal: stop.signal,
    });
    reporter.finish();
  } finally {
    answers?.close();
    mcp?.close();
  }
}

interface Loop {
  readonly config: NativeConfig;
  readonly tools: AgentTool[];
  readonly gate: ToolGate;
  readonly transcript: Transcript;
  readonly signal: AbortSignal;
  /** Messages from a person since the last read. */
  takeMessages(): readonly string[];
  report(event: AgentEvent): void;
}

async function runLoop(loop: Loop): Promise<void> {
  const { config, tools, gate, transcript, report, signal } = loop;
  const received = () =>
    Promise.resolve(
      loop.takeMessages().map((content) => ({ role: 'user', content, timestamp: Date.now() }) as const),
    );
  const now = Date.now();
  const system = { role: 'system', content: systemPromptFor(config), timestamp: now } as const;
  let turns = 0;
  await runAgentLoop(
    [{ role: 'user', content: config.prompt, timestamp: now }],
    { messages: transcript.before.length > 0 ? [...transcript.before] : [system], tools },
    {
      model: describeModel(config),
      apiKey: config.apiKey,
      ...definedOnly({ maxTokens: config.maxTokens, temperature: config.temperature }),
      maxRetries: MAX_RETRIES,
      toolExecution: 'sequential',
      convertToLlm: (messages) => messages.filter(isModelMessage),
      beforeToolCall: async ({ toolCall, args }) => {
        const reason = await gate({ id: toolCall.id, tool: toolCall.name, input: args }); // N1
        return reason === null ? undefined : { block: true, reason };
      },
      getSteeringMessages: received,
      getFollowUpMessages: received, // sent while the agent was about to stop
      finishTurn: ({ context }) => {
        transcript.save(context.messages);
        turns += 1;
        return config.maxTurns !== undefined && turns >= config.maxTurns ? { action: 'end' } : undefined;
      },
    },
    report,
    signal,
    retryCutStreams(await loadStream(config.api)),
  );
}

type Message = Parameters<AgentLoopConfig['convertToLlm']>[0][number];
type ModelMessage = Extract<Message, { role: 'system' | 'user' | 'assistant' | 'toolResult' }>;

const isModelMessage = (message: Message): message is ModelMessage =>
  ['system', 'user', 'assistant', 'toolResult'].includes(message.role);

function toolsFor(config: NativeConfig): AgentTool[] {
  const place: ToolPlace = { workspace: config.workspace, home: config.home, env: commandEnv() };
  const tools = TOOLS.map((create) => create(place));
  return config.tools === undefined ? tools : tools.filter((tool) => config.tools?.includes(tool.name));
}

/** Commands get the agent's environment, which the worker has already filtered. */
function commandEnv(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

function fail(say: PrintLine, error: unknown): void {
  say({ type: 'error', message: error instanceof Error ? error.message : String(error) });
}

try {
  await main();
} catch (error) {
  fail(printLine, error);
}
