/** The library: what a program, and the CLI, uses of Caisson. */
import type { DispatchResult, EventEnvelope } from '@caisson/protocol';
import { loadConfig, type LoadConfigOptions, type ResolvedConfig } from './config/index.ts';
import {
  describeRun,
  flatten,
  RunNotFoundError,
  type DispatchRequest,
  type RunHandle,
} from './dispatch/index.ts';
import { createEngine, type Engine } from './engine.ts';
import type { RunFilter, RunRow } from './ledger/index.ts';
import { cancelRun } from './operations/cancel-run.ts';
import { followRun } from './operations/follow-run.ts';
import { readRunLog, type LogName } from './operations/read-run-log.ts';
import { resolveRunId } from './operations/resolve-run-id.ts';

export interface CaissonOptions {
  /** Folder of the project, or anywhere inside it. Default: the current folder. */
  readonly cwd?: string;
  /** State folder instead of `.caisson` in the project. */
  readonly stateDir?: string;
  readonly flags?: LoadConfigOptions['flags'];
}

/** One project's runs. Close it when done; closing cancels what this process still runs. */
export interface Caisson {
  readonly config: ResolvedConfig;
  /** Accepts a task and sees it to its one ending. Throws TaskRefusedError when admission says no. */
  dispatch(request: DispatchRequest): Promise<RunHandle>;
  runs(filter?: RunFilter): Promise<readonly RunRow[]>;
  /** The run as its ledger tells it. A unique beginning of the id will do. */
  show(runId: string): Promise<DispatchResult>;
  /** Recorded events after a sequence number. */
  events(runId: string, options?: { after?: number }): Promise<readonly EventEnvelope[]>;
  /** Recorded events, then the coming ones, until the run has ended. */
  follow(runId: string, options?: { after?: number; signal?: AbortSignal }): AsyncIterable<EventEnvelope>;
  /** What the agent printed, redacted. */
  log(runId: string, name: LogName): Promise<Buffer>;
  cancel(runId: string, options?: { force?: boolean }): Promise<'asked' | 'ended-already' | 'settled'>;
  close(): Promise<void>;
}

/** Opens the project at `cwd`. Settles what a host that died has left behind before it answers anything. */
export async function createCaisson(options: CaissonOptions = {}): Promise<Caisson> {
  const cwd = options.cwd ?? process.cwd();
  const config = await loadConfig({ cwd, flags: { ...options.flags, state: options.stateDir } });
  const engine = createEngine(config, cwd);
  await engine.recover();
  return createFace(engine);
}

function createFace(engine: Engine): Caisson {
  const { ledger } = engine;
  const find = (given: string): string => resolveRunId(ledger, given);
  return {
    config: engine.config,
    async dispatch(request) {
      await engine.openPost();
      return engine.dispatcher.dispatch(request);
    },
    runs: (filter) => Promise.resolve(ledger.runs(filter)),
    show: async (runId) => describeRun(engine.rooms, find(runId)),
    events: (runId, { after } = {}) =>
      Promise.resolve(
        ledger.read({ runId: find(runId), ...(after === undefined ? {} : { after }) }).map(flatten),
      ),
    follow: (runId, how) => followRun(engine, find(runId), how),
    log: async (runId, name) => readRunLog(engine, find(runId), name),
    cancel: async (runId, how) => cancelRun(engine, find(runId), how),
    close: () => engine.close(),
  };
}

export { RunNotFoundError };
