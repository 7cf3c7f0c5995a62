/**
 * What connects this agent to its host for one start: gate, tools and the socket to both. The rules behind the gate are
 * loaded while the agent program starts, which takes far longer.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { COORDINATION_TOOLS, type Job } from '@caisson/protocol';
import type { AttemptContext } from '../attempt/index.ts';
import type { DriverInput } from '../runtimes/index.ts';
import { INSIDE } from '../view/index.ts';
import type { AgentRules } from './agent-rules.ts';
import { watchGatePlace } from './gate-place.ts';
import type { LoopBreaker } from './loop-breaker.ts';
import { openToolServer } from './tool-server.ts';
import type { ToolGate } from './tool-gate.ts';

export interface Coordination {
  readonly gate: ToolGate;
  readonly loop: LoopBreaker;
  /** The input of the driver. */
  readonly driverInput: Pick<DriverInput, 'mcp' | 'gate' | 'canAsk'>;
  /** The socket to bind into the sandbox. */
  readonly socketPath: string;
  /** Loads the rules ahead of the first call; otherwise the first call waits for them. */
  warm(): void;
  close(): Promise<void>;
}

export async function openCoordination(context: AttemptContext): Promise<Coordination> {
  const { job } = context;
  let loading: Promise<AgentRules> | null = null;
  const rules = (): Promise<AgentRules> =>
    (loading ??= import('./agent-rules.ts').then(({ createAgentRules }) => createAgentRules(context)));
  const withRules = (use: (rules: AgentRules) => void): void => {
    rules().then(use, (error: unknown) => {
      const message = `calls cannot be judged: ${(error as Error).message}`;
      context.writer.write({ kind: 'warning', source: 'gate', message });
    });
  };
  const gate: ToolGate = { judge: async (call) => (await rules()).gate.judge(call) };
  const server = await openToolServer({
    socketPath: join(job.paths.spool, 'tools.sock'),
    gate,
    tools: async () => (await rules()).tools,
  });
  const place = watchGatePlace(context, server.socketPath, (failure) => {
    context.gathered.limit ??= failure;
    context.running?.kill();
  });
  const inside = job.grant.sandbox === 'none' ? server.socketPath : INSIDE.toolSocket;
  const [command = '', ...before] = job.sandbox.programs.toolShim;
  const peer = peerOf(job.grant.sandbox, server.socketPath);
  const shim = (kind: 'gate' | 'mcp') => ({
    // Nothing of the program's environment: a variable can make an interpreter run something else first.
    command: '/usr/bin/env',
    args: ['-i', command, ...before, kind, inside, peer],
  });
  return {
    gate,
    loop: {
      denied: (tool, input) => withRules(({ loop }) => loop.denied(tool, input)),
      receive(signal) {
        if (signal.kind !== 'tool-start' && signal.kind !== 'tool-end') return;
        place.check();
        withRules(({ loop }) => loop.receive(signal));
      },
    },
    driverInput: {
      gate: shim('gate'),
      canAsk: true,
      ...(offersTools(job.grant.tools) ? { mcp: { ...shim('mcp'), env: {}, socketPath: inside } } : {}),
    },
    socketPath: server.socketPath,
    warm: () => withRules(() => undefined),
    close: async () => {
      place.check();
      await loading?.then(({ agentEnded }) => agentEnded()).catch(() => undefined); // reported by withRules
      await server.close();
    },
  };
}

/** The identity behind the socket, as its clients see it: outside their PID namespace our number is 0. */
function peerOf(sandbox: Job['grant']['sandbox'], socketPath: string): string {
  const { dev, ino } = statSync(socketPath, { bigint: true });
  return `${sandbox === 'none' ? process.pid : 0}:${dev}:${ino}`;
}

function offersTools(granted: readonly string[]): boolean {
  return granted.includes('*') || COORDINATION_TOOLS.some((name) => granted.includes(name));
}
