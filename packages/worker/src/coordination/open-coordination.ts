/** What stands between this agent and its host for one start: gate, tools and the socket to both. */
import { join } from 'node:path';
import { COORDINATION_TOOLS } from '@caisson/protocol';
import type { AttemptContext } from '../attempt-context.ts';
import type { DriverInput } from '../runtimes/contract.ts';
import { INSIDE } from '../sandbox-view.ts';
import { askTool } from './ask-tool.ts';
import { boardTools } from './board-tools.ts';
import { contextTools } from './context-tools.ts';
import type { CoordinationTool, ToolBench } from './coordination-tool.ts';
import { dispatchTool } from './dispatch-tool.ts';
import { createHostRequests } from './host-requests.ts';
import { createLoopBreaker, type LoopBreaker } from './loop-breaker.ts';
import { openToolDesk } from './tool-desk.ts';
import { createToolGate, type ToolGate } from './tool-gate.ts';

/** Three threads instead of seven, which count against the run's `pids`. */
const SHIM_FLAGS = ['--v8-pool-size=0', '--disable-sigusr1'];

export interface Coordination {
  readonly gate: ToolGate;
  readonly loop: LoopBreaker;
  /** What the driver is told. */
  readonly driverInput: Pick<DriverInput, 'mcp' | 'gate' | 'canAsk'>;
  /** The socket to bind into the sandbox. */
  readonly socketPath: string;
  close(): Promise<void>;
}

export async function openCoordination(context: AttemptContext): Promise<Coordination> {
  const { job } = context;
  const requests = createHostRequests(context);
  const loop = createLoopBreaker((failure) => {
    context.gathered.limit ??= failure;
    context.running?.kill();
  });
  const gate = createToolGate(context, requests, loop);
  const tools = grantedTools({ context, requests, gate });
  const desk = await openToolDesk({ socketPath: join(job.paths.spool, 'tools.sock'), gate, tools });
  const inside = job.grant.sandbox === 'none' ? desk.socketPath : INSIDE.toolSocket;
  const shim = (kind: 'gate' | 'mcp') => ({
    command: job.sandbox.node,
    args: [...SHIM_FLAGS, job.sandbox.entries.toolShim, kind, inside],
  });
  return {
    gate,
    loop,
    driverInput: {
      gate: shim('gate'),
      canAsk: true,
      ...(tools.length === 0 ? {} : { mcp: { ...shim('mcp'), env: {}, socketPath: inside } }),
    },
    socketPath: desk.socketPath,
    close: () => desk.close(),
  };
}

/** Only what the grant names is there at all. */
function grantedTools(bench: ToolBench): CoordinationTool[] {
  const { grant, paths } = bench.context.job;
  const isGranted = (name: string): boolean => grant.tools.includes('*') || grant.tools.includes(name);
  if (!COORDINATION_TOOLS.some(isGranted)) return [];
  const all = [
    ...(paths.board === null ? [] : boardTools(bench, paths.board)),
    ...(paths.context === null ? [] : contextTools(bench, paths.context)),
    askTool(bench),
    dispatchTool(bench),
  ];
  return all.filter((tool) => isGranted(tool.name));
}
