/** Reports to the host every few seconds that the worker lives, with counters from real signals. */
import {
  descendants,
  readProcess,
  readsStdin,
  treeCpuMs,
  treeMemoryBytes,
  type SandboxProcess,
} from '@caisson/ground';
import type { HeartbeatCounters } from '@caisson/protocol';
import type { AttemptContext } from './attempt-context.ts';

/** From the first moment to the last step: a long setup or verify is alive, too. */
export function startHeartbeat(context: AttemptContext): () => void {
  let last = { turns: 0, toolCalls: 0, tokensIn: 0, tokensOut: 0, bytes: 0 };
  const beat = (): void => {
    const { meter } = context;
    const now = {
      turns: meter.turns,
      toolCalls: meter.toolCalls,
      tokensIn: meter.usage.inputTokens,
      tokensOut: meter.usage.outputTokens,
      bytes: context.printedBytes,
    };
    context.network?.reportUsage(); // a beat is counted with the newest figures, and an unreached model grows no other
    context.writer.write({
      kind: 'heartbeat',
      counters: { ...difference(now, last), ...lookAtTree(context) },
    });
    last = now;
  };
  const timer = setInterval(beat, context.job.heartbeatMs);
  timer.unref();
  return () => clearInterval(timer);
}

type Counts = Pick<HeartbeatCounters, 'turns' | 'toolCalls' | 'tokensIn' | 'tokensOut' | 'bytes'>;

function difference(now: Counts, before: Counts): Counts {
  return {
    turns: now.turns - before.turns,
    toolCalls: now.toolCalls - before.toolCalls,
    tokensIn: Math.max(0, now.tokensIn - before.tokensIn),
    tokensOut: Math.max(0, now.tokensOut - before.tokensOut),
    bytes: Math.max(0, now.bytes - before.bytes),
  };
}

type Looked = Pick<HeartbeatCounters, 'cpuMs' | 'memoryBytes' | 'currentTool' | 'waiting'>;

function lookAtTree(context: AttemptContext): Looked {
  const currentTool = context.meter.currentTool ?? context.script;
  const { running } = context;
  if (running === null) return { cpuMs: 0, currentTool, waiting: null };
  const waiting = context.heldCalls > 0 ? 'permission' : findWait(running);
  return {
    cpuMs: treeCpuMs(running.pid),
    memoryBytes: treeMemoryBytes(running.pid),
    currentTool,
    waiting: waiting ?? (currentTool === null ? null : 'tool'),
  };
}

/** From the agent's whole tree: a shell only waits for its child, and the child reads or was stopped. */
export function findWait(
  running: Pick<SandboxProcess, 'agentPid'>,
): 'stopped' | 'stdin' | 'pipe-open' | null {
  const agent = running.agentPid();
  // It existed when the sandbox was ready; `running` is reset once all of the sandbox is gone.
  if (agent === null) return 'pipe-open';
  const below = descendants(agent);
  if ([readProcess(agent), ...below].some((info) => info?.state === 'T')) return 'stopped';
  const readers = below.map(({ pid }) => pid);
  return readsStdin(agent, readers) ? 'stdin' : null;
}
