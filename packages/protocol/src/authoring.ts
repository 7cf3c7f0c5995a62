/**
 * What the files of senses and workflows are written with. The functions return what they are given: they are there for
 * its types. Inside the sandbox `caisson` resolves to this file alone.
 */
import type { ComputeCause, ThreadTrigger } from './resident-causes.ts';

/**
 * The database of a sense's group. Values are kept until the next compute and across restarts. What a compute changes takes
 * effect with its signals when it returns; nothing of it does when it throws, takes too long or its process ends. From its
 * first change to its end the other senses of the group can read, and wait with their own changes, for 5 s at most.
 */
export interface SenseState {
  get<T = unknown>(key: string): T | undefined;
  set(key: string, value: unknown): void;
  delete(key: string): void;
  /** SQL on the same database (SQLite); tables that begin with `caisson_` are Caisson's. */
  run(sql: string, ...values: (string | number | bigint | null)[]): { changes: number };
  all<Row = Record<string, unknown>>(sql: string, ...values: (string | number | bigint | null)[]): Row[];
  /** A part that can be undone alone: all of it or nothing. */
  transaction<T>(work: () => T): T;
}

/** Signals by name, each with the type of its payload. */
export type Signals = Record<string, unknown>;

export interface SenseContext<S extends Signals> {
  readonly state: SenseState;
  /** Aborted when the time is over. */
  readonly signal: AbortSignal;
  readonly cause: ComputeCause;
  /** The folder of the project, read-only. */
  readonly projectRoot: string;
  log(...words: unknown[]): void;
  /** Takes effect when the compute returns, once, together with what it changed in `state`; not at all when it throws. */
  emit<N extends keyof S & string>(name: N, ...payload: S[N] extends undefined ? [] : [S[N]]): void;
}

export interface Sense<S extends Signals = Signals> {
  compute(context: SenseContext<S>): void | Promise<void>;
}

/** How a run that a role started has ended. */
export interface EndedRun {
  readonly runId: string;
  /** The one that it had; narrower than the one it was asked for with, where the workflow may have no more. */
  readonly mode?: string;
  readonly status: string;
  readonly reply: string;
  readonly failure?: { readonly reason: string; readonly detail: string };
  readonly question?: string;
  readonly branch?: string;
  /** Of the patch that `caisson diff` shows, however it ended; 0: it changed nothing. Absent: its work is in no patch, or forgotten. */
  readonly patchBytes?: number;
}

/** What a role may ask of a run; the configuration and the workflow's grant decide the rest. */
export interface RoleRun {
  /** Not needed with `argv`. */
  readonly task?: string;
  readonly agent?: string;
  readonly runtime?: string;
  readonly model?: string;
  readonly mode?: string;
  /** The command line of the runtime `command`. */
  readonly argv?: readonly string[];
  readonly base?: string;
  readonly branch?: string;
  readonly verify?: string;
  readonly scope?: readonly string[];
  readonly timeoutMs?: number;
  /** Begins with the work of this run. */
  readonly keepWork?: string;
}

export interface RoleMessage {
  readonly round: number;
  readonly role: string;
  readonly content: unknown;
}

export interface RoleContext<Payload = unknown> {
  readonly threadId: string;
  readonly round: number;
  readonly trigger: ThreadTrigger;
  readonly payload: Payload;
  readonly messages: readonly RoleMessage[];
  /** Aborted when the thread is cancelled or its time is over. */
  readonly signal: AbortSignal;
  readonly projectRoot: string;
  log(...words: unknown[]): void;
  /** Runs an agent and waits for its ending. Done once, also when the role is repeated after a crash. */
  dispatch(run: RoleRun): Promise<EndedRun>;
  /** Starts it only; resolves with its id. */
  start(run: RoleRun): Promise<string>;
  /** Waits for runs that `start` started. */
  wait(runIds: readonly string[]): Promise<readonly EndedRun[]>;
  /** Asks a person; `caisson answer` answers. */
  ask(
    question: string,
    options?: { readonly options?: readonly string[]; readonly deadlineMs?: number },
  ): Promise<string>;
  /** Without a worker, for as long as it takes. */
  sleep(ms: number): Promise<void>;
  /**
   * Runs the code once and remembers its value, which must be JSON, or its error. While it runs, its role is not given up for
   * another step that is open.
   */
  step<T>(name: string, work: () => T | Promise<T>): Promise<T>;
}

export type Role<Payload = unknown> = (context: RoleContext<Payload>) => unknown;

export interface Workflow<Payload = unknown> {
  readonly roles: Readonly<Record<string, Role<Payload>>>;
  /**
   * The role that is next, or null at the end. Pure: it decides by what it is given, and may be called again for the same.
   */
  route(thread: { readonly payload: Payload; readonly messages: readonly RoleMessage[] }): string | null;
}

export function defineSense<S extends Signals = Signals>(sense: Sense<S>): Sense<S> {
  return sense;
}

export function defineWorkflow<Payload = unknown>(workflow: Workflow<Payload>): Workflow<Payload> {
  return workflow;
}
