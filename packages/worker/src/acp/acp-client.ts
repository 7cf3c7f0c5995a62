// Runs any Agent Client Protocol agent: a bundled entry that runs inside the sandbox, starts the user's agent as its
// child, prompts it once, answers its permission requests by policy, and reports events as the native agent's lines.
//
//   node acp-client.mjs CONFIG.json
//
// P1  A call that the agent asks about does not run before policy has answered for exactly that call.
// P2  Exactly one `done` or `error` line is printed, and it is the last one. The exit code is 0 either way.
// P3  The agent does not outlive the client: its end is waited for, and the sandbox ends what is left.

import { spawn, type ChildProcess } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import {
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type ClientContext,
  type InitializeResponse,
} from '@agentclientprotocol/sdk';
import { createAnswers, printLine } from '../native/index.ts';
import { readAcpConfig, type AcpConfig } from './acp-config.ts';
import { openSession } from './open-session.ts';
import { createPermissionHandler } from './permission.ts';
import { endingOf, failureOf, usageOf } from './prompt-ending.ts';
import { createUpdateReporter, type UpdateReporter } from './report-updates.ts';
import { createWorkspaceFiles } from './workspace-files.ts';

const EXIT_GRACE_MS = 1000;

async function main(config: AcpConfig): Promise<void> {
  const answers = config.canAsk ? createAnswers(process.stdin) : null;
  const reporter = createUpdateReporter(printLine);
  const askPermission = createPermissionHandler(config, printLine, answers);
  const child = startAgent(config);
  const files = createWorkspaceFiles(config.workspace, config.mode !== 'suggest');
  let isReplaying = config.resume !== undefined;
  const app = client({ name: 'caisson' })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      reporter.reportCall(params.toolCall);
      return askPermission(params); // P1
    })
    .onNotification(methods.client.session.update, ({ params }) => {
      if (!isReplaying) reporter.report(params.update);
    });
  if (config.fs) {
    app.onRequest(methods.client.fs.readTextFile, ({ params }) => files.read(params));
    app.onRequest(methods.client.fs.writeTextFile, ({ params }) => files.write(params));
  }
  try {
    const gone = failWhenGone(child);
    const talk = app.connectWith(streamOf(child), async (agent) => {
      const initialized = await initialize(agent, config);
      const sessionId = await openSession(agent, config, initialized);
      isReplaying = false;
      await prompt(agent, sessionId, config, reporter);
    });
    await Promise.race([talk, gone]);
  } catch (error) {
    reporter.finish();
    printLine(failureOf(error)); // P2
  } finally {
    answers?.close();
    await end(child);
  }
}

function startAgent({ agent, workspace }: AcpConfig): ChildProcess {
  return spawn(agent.command, agent.args, {
    cwd: workspace,
    env: { ...process.env, ...agent.env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

function streamOf(child: ChildProcess) {
  if (child.stdin === null || child.stdout === null) throw new Error('the agent has no pipes');
  child.stdin.on('error', () => undefined); // `failWhenGone` reports its end
  return ndJsonStream(
    Writable.toWeb(child.stdin),
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  );
}

function failWhenGone(child: ChildProcess): Promise<never> {
  return new Promise((_, reject) => {
    child.once('error', (error) => reject(new Error(`the agent cannot be started: ${error.message}`)));
    child.once('exit', (code, signal) =>
      reject(new Error(`the agent exited (${signal ?? `code ${code}`}) before it had answered`)),
    );
  });
}

async function initialize(agent: ClientContext, config: AcpConfig): Promise<InitializeResponse> {
  return agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: 'caisson', version: '1' },
    clientCapabilities: { fs: { readTextFile: config.fs, writeTextFile: config.fs }, terminal: false },
  });
}

async function prompt(
  agent: ClientContext,
  sessionId: string,
  config: AcpConfig,
  reporter: UpdateReporter,
): Promise<void> {
  printLine({ type: 'session', id: sessionId, model: config.model ?? '' });
  process.once('SIGTERM', () => void agent.notify(methods.agent.session.cancel, { sessionId }));
  // ACP has no field for a system prompt: it comes before the task.
  const task = sessionId === config.resume ? config.prompt : (config.freshPrompt ?? config.prompt);
  const text = config.systemPrompt === undefined ? task : `${config.systemPrompt}\n\n${task}`;
  const response = await agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text }],
  });
  const reply = reporter.finish();
  const usage = usageOf(response);
  if (usage !== null) printLine(usage);
  printLine(endingOf(response.stopReason, reply)); // P2
}

/** P3: an agent whose stdin is closed should exit; one that stays is ended. */
function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined)
    return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), EXIT_GRACE_MS);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    child.stdin?.end();
    child.kill('SIGTERM');
  });
}

try {
  await main(readAcpConfig(process.argv[2] ?? ''));
} catch (error) {
  printLine(failureOf(error));
}
// Pipes that a tool of the agent still has open must not keep the client alive.
process.exit(0);
