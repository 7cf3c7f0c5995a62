/**
 * A pool of ephemeral workers: each task gets its own sandbox and its own branch, and ends in a checked hand-off.
 *
 * WP1  A worker is a run: it is started by `dispatch`, and by nothing else.
 * WP2  What the pool says of itself (workers, tool calls, branches that timed out) is read from the ledger: another
 *      process, or the same one after a crash, sees the same.
 * WP3  A task that is not handed off in order rejects with an error that names its run and its branch.
 * WP4  A listener that throws disturbs nobody.
 * WP5  After `stop` nothing that the pool started runs; a push under way is left to the next host.
 */
import type { DispatchRequest, DispatchResult, Handoff } from '@caisson/protocol';
import type { RunHandle } from '../admission/index.ts';
import type { Caisson } from '../caisson-contract.ts';

export interface PoolTask {
  readonly id: string;
  readonly description: string;
  readonly scope?: readonly string[] | undefined;
  readonly acceptance?: string | undefined;
  /** Default `worker/<id>-<the first words of the description>`. */
  readonly branch?: string | undefined;
  /** 1 is first, 10 last; default 5. */
  readonly priority?: number | undefined;
  /** The caller's own notes: the pool does not read them. */
  readonly status?: string | undefined;
  readonly createdAt?: number | string | undefined;
}

export interface PoolModel {
  /** Base URL; `/v1` is added where it is missing. */
  readonly endpoint?: string | undefined;
  readonly model?: string | undefined;
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  /** Where the key is (`env:NAME`, `file:PATH`, `exec:COMMAND`), never the key itself. */
  readonly apiKey?: string | undefined;
}

export interface WorkerPoolConfig {
  /** Under this name the ledger keeps the pool's state. Default `workers`. */
  readonly name?: string | undefined;
  /** The project with state and settings. Default: the current folder. */
  readonly cwd?: string | undefined;
  /**
   * Default 50. `limits.concurrency` of the project counts, too: the smaller one wins. Workers of all processes count, but each
   * process checks for itself: two that start one at the same moment may both take the last place. `limits.concurrency`
   * is exact across processes.
   */
  readonly maxWorkers?: number | undefined;
  /** In seconds, from the start of the worker. Default 1800. */
  readonly workerTimeout?: number | undefined;
  readonly llm?: PoolModel | undefined;
  /** Without a `url` tasks work on the project's own repository, and nothing is pushed. `branch` is the base. */
  readonly git?: { readonly url?: string | undefined; readonly branch?: string | undefined } | undefined;
  /** Where the token for `git.url` is, for example `env:GIT_TOKEN`. */
  readonly gitToken?: string | undefined;
  /** What every task asks for beside that: `runtime`, `agent`, `mode`, `verify` and the like. */
  readonly request?: DispatchRequest | undefined;
  /** @deprecated Accepted and ignored: no interpreter is started. */
  readonly pythonPath?: string | undefined;
}

export interface Worker {
  /** `ephemeral-<task id>` */
  readonly id: string;
  readonly currentTask: PoolTask;
  /** In milliseconds since 1970. */
  readonly startedAt: number;
}

/** A run as the pool needs it. */
export type PoolRun = Pick<RunHandle, 'runId' | 'cancel'> & {
  readonly ended: Promise<DispatchResult>;
  readonly events?: RunHandle['events'];
};

/** What a pool reads and writes beside its runs. */
export type PoolHouse = Pick<
  Caisson,
  'config' | 'dispatch' | 'runs' | 'branches' | 'events' | 'follow' | 'drain' | 'close'
>;

export interface WorkerPoolDeps {
  /** Opens the project; the pool closes it with `stop`. */
  open(options: { readonly cwd?: string }): Promise<PoolHouse>;
  /** Instead of the project's own. */
  readonly dispatch?: (request: DispatchRequest) => Promise<PoolRun>;
  readonly now: () => number;
  readonly setTimeout: (work: () => void, ms: number) => unknown;
  readonly clearTimeout: (timer: never) => void;
  /** One line for people. */
  readonly log: (line: string) => void;
  /** @deprecated Accepted and ignored: no output is parsed. */
  readonly createInterface?: unknown;
}

/** A span of OpenTelemetry, as far as a pool needs it. */
export interface ParentSpan {
  spanContext(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
}

export type CompleteListener = (handoff: Handoff) => unknown;
export type FailedListener = (taskId: string, error: Error) => unknown;
