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
import type { AgentLaw } from './agent-law.ts';
import { watchGatePlace } from './gate-place.ts';
import type { LoopBreaker } from './loop-breaker.ts';
import { openToolDesk } from './tool-desk.ts';
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
  let loading: Promise<AgentLaw> | null = null;
  const law = (): Promise<AgentLaw> =>
    (loading ??= import('./agent-law.ts').then(({ createAgentLaw }) => createAgentLaw(context)));
  const withLaw = (use: (law: AgentLaw) => void): void => {
    law().then(use, (error: unknown) => {
      const message = `calls cannot be judged: ${(error as Error).message}`;
      context.voice.say({ kind: 'warning', source: 'gate', message });
    });
  };
  const gate: ToolGate = { judge: async (call) => (await law()).gate.judge(call) };
  const desk = await openToolDesk({
    socketPath: join(job.paths.spool, 'tools.sock'),
    gate,
    tools: async () => (await law()).tools,
  });
  const place = watchGatePlace(context, desk.socketPath, (failure) => {
    context.gathered.limit ??= failure;
    context.running?.kill();
  });
  const inside = job.grant.sandbox === 'none' ? desk.socketPath : INSIDE.toolSocket;
  const [command = '', ...before] = job.sandbox.programs.toolShim;
  const peer = peerOf(job.grant.sandbox, desk.socketPath);
  const shim = (kind: 'gate' | 'mcp') => ({
    // Nothing of the program's environment: a variable can make an interpreter run something else first.
    command: '/usr/bin/env',
    args: ['-i', command, ...before, kind, inside, peer],
  });
  return {
    gate,
    loop: {
      denied: (tool, input) => withLaw(({ loop }) => loop.denied(tool, input)),
      hear(signal) {
        if (signal.kind !== 'tool-start' && signal.kind !== 'tool-end') return;
        place.check();
        withLaw(({ loop }) => loop.hear(signal));
      },
    },
    driverInput: {
      gate: shim('gate'),
      canAsk: true,
      ...(offersTools(job.grant.tools) ? { mcp: { ...shim('mcp'), env: {}, socketPath: inside } } : {}),
    },
    socketPath: desk.socketPath,
    warm: () => withLaw(() => undefined),
    close: async () => {
      place.check();
      await loading?.then(({ agentEnded }) => agentEnded()).catch(() => undefined); // reported by withLaw
      await desk.close();
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
