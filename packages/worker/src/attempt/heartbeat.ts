/** Reports to the host every few seconds that the worker lives, with counters from real signals. */
import {
  readsStdin,
  readTree,
  treeCpuMs,
  treeMemoryBytes,
  type ProcessInfo,
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
  const tree = readTree(running.pid);
  const waiting = context.heldCalls > 0 ? 'permission' : findWait(running, tree);
  return {
    cpuMs: treeCpuMs(tree),
    memoryBytes: treeMemoryBytes(tree),
    currentTool,
    waiting: waiting ?? (currentTool === null ? null : 'tool'),
  };
}

/** From the agent's whole tree: a shell only waits for its child, and the child reads or was stopped. */
export function findWait(
  running: Pick<SandboxProcess, 'agentPid'>,
  tree: readonly ProcessInfo[],
): 'stopped' | 'stdin' | 'pipe-open' | null {
  const agent = running.agentPid();
  // It existed when the sandbox was ready; `running` is reset once all of the sandbox is gone.
  if (agent === null) return 'pipe-open';
  const own = new Set([agent]);
  const seen = tree.filter(({ pid, ppid }) => own.has(pid) || (own.has(ppid) && own.add(pid).has(pid)));
  if (seen.some(({ state }) => state === 'T')) return 'stopped';
  const readers = seen.map(({ pid }) => pid).filter((pid) => pid !== agent);
  return readsStdin(agent, readers) ? 'stdin' : null;
}
