/**
 * A run from queue to outcome: admit → place → prepare → launch → supervise → settle, one file a stage.
 *
 * D1  A run has exactly one terminal event, whatever is killed and at any time (invariant 1).
 * D2  Nothing is dispatched twice: an attempt is on disk before its worker exists.
 * D3  A run keeps its slot from `place` to the end of `settle`, also while an attempt waits for its retry.
 * D4  Nothing is cleaned up before the checkpoint is durable (invariant 10).
 */
import type {
  BudgetCaps,
  Bind,
  DispatchResult,
  EventEnvelope,
  Grant,
  Limits,
  NeedsInput,
  PipelineSpec,
  Resolved,
  SandboxKind,
  ScriptLens,
  SessionResume,
} from '@caisson/protocol';
import type { FoundRuntime, FoundAgent } from './rooms.ts';

export type { Refusal } from '../platform/index.ts';

export type WorkspaceKind = 'worktree' | 'in-place' | 'empty';

/** A caller's request. Everything left out comes from the agent, the configuration or a default. */
export interface DispatchRequest {
  /** What should be done, in words; for `command`, a label (default: the command line). */
  readonly task?: string;
  /** The command line of the runtime `command`, which need not be named then. */
  readonly argv?: readonly string[];
  readonly runtime?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly systemPrompt?: string;
  readonly mode?: string;
  readonly sandbox?: SandboxKind;
  readonly workspace?: WorkspaceKind;
  readonly base?: string;
  /** For `command`: where it starts, relative to the project's root. */
  readonly folder?: string;
  readonly timeoutMs?: number;
  readonly stallTimeoutMs?: number;
  readonly budget?: BudgetCaps;
  readonly limits?: Limits;
  readonly network?:
    | { readonly kind: 'none' }
    | { readonly kind: 'hosts'; readonly hosts: readonly string[] }
    | { readonly kind: 'full' };
  readonly tools?: readonly string[];
  readonly verify?: string;
  /**
   * What the check reads and what its failure means; a clean room unless the run works in place or without a sandbox.
   */
  readonly verifyLens?: ScriptLens;
  readonly capabilities?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly envBundles?: readonly string[];
  /** Variable name → reference, for example `{ NPM_TOKEN: 'env:NPM_TOKEN' }`. */
  readonly secrets?: Readonly<Record<string, string>>;
  readonly pipeline?: string | PipelineSpec;
  /** Key → path of a file that appears at `inputs/<key>`. */
  readonly inputs?: Readonly<Record<string, string>>;
  /** Key → a file that an earlier run put into the store; `retry` and `answer` fill it in. */
  readonly storedInputs?: Readonly<Record<string, Omit<StoredInput, 'key'>>>;
  readonly scope?: readonly string[];
  readonly acceptance?: string;
  readonly branch?: string;
  /** Allow risky files of grade `ask` (CI workflows, install scripts) on the branch, and in files in place. */
  readonly allowRisky?: boolean;
  readonly priority?: number;
  readonly retries?: number;
  readonly session?: string;
  readonly idempotencyKey?: string;
  readonly overflow?: 'queue' | 'reject';
  readonly callbacks?: readonly string[];
  /** The run this one continues. */
  readonly continues?: string;
  /** The earlier question, and the answer; `questionId` is the question it closes. */
  readonly answer?: NeedsInput & { readonly answer: string; readonly questionId?: string };
  readonly resume?: SessionResume;
  /** The grant of the run that requests this one; it limits the new grant. */
  readonly parent?: { readonly runId: string; readonly grant: Grant };
  readonly runId?: string;
}

/** A file in the store that lands at `inputs/<key>`. */
export interface StoredInput {
  readonly key: string;
  readonly sha256: string;
  readonly isExecutable: boolean;
}

/** An input before the run is accepted: in the store already, or still a file of the user's. */
export type AskedInput = StoredInput | { readonly key: string; readonly path: string };

/** A task whose names are resolved, before it passed admission. */
export type Candidate = Omit<AdmittedRun, 'inputs'> & { readonly inputs: readonly AskedInput[] };

/** A task that passed admission. */
export interface AdmittedRun {
  readonly runId: string;
  readonly request: DispatchRequest;
  readonly taskId: string;
  readonly description: string;
  readonly createdAt: string;
  readonly priority: number;
  readonly runtime: FoundRuntime;
  readonly agent: FoundAgent | null;
  readonly model: string;
  readonly systemPrompt: string;
  readonly userPrompt: string;
  /** The data of `prompt.compiled`; null if no model reads a prompt. */
  readonly compiled: {
    readonly hash: string;
    readonly fragmentCount: number;
    readonly estimatedTokens: number;
  } | null;
  /** The requested model, before a level was mapped. */
  readonly tier: string;
  readonly grant: Grant;
  readonly pipeline: PipelineSpec;
  readonly resolved: Resolved;
  readonly capabilities: readonly { name: string; hash: string }[];
  readonly envBundles: readonly {
    name: string;
    hash: string;
    values: Record<string, string>;
    secrets: Record<string, string>;
  }[];
  readonly inputs: readonly StoredInput[];
  readonly workspaceKind: WorkspaceKind;
  readonly timeoutMs: number;
  readonly stallTimeoutMs: number | null;
  readonly retries: number;
  readonly session: string | null;
  readonly trace: string;
  readonly binds: readonly Bind[];
}

export interface ReadOptions {
  readonly after?: number;
  readonly signal?: AbortSignal;
}

/** A run that is under way in this host. */
export interface RunHandle {
  readonly runId: string;
  /** The task's idempotency key already belonged to this run; nothing new was started. */
  readonly isEarlier?: boolean;
  /**
   * From the first event on, or after a sequence number, in order; ends after the run's last event. Any number of readers
   * may read, each at its own pace. What is only told (`seq` 0) comes from the moment a reader begins.
   */
  events(options?: ReadOptions): AsyncIterable<EventEnvelope>;
  readonly ended: Promise<DispatchResult>;
  cancel(options?: { force?: boolean; interrupt?: boolean }): void;
  /** Resolves with the message's id once it is recorded. */
  send(body: string): Promise<string>;
}

export interface Dispatcher {
  dispatch(request: DispatchRequest): Promise<RunHandle>;
  /** The run if this host drives it. */
  active(runId: string): RunHandle | null;
  /**
   * Stops every run of this host, also one whose admission is under way (`cancelled`, cause `shutdown`), and waits for
   * their endings. A run that a user cancelled before stays cancelled.
   */
  shutdown(options?: { force?: boolean }): Promise<void>;
  /** Aborted with the first `shutdown`. */
  readonly closing: AbortSignal;
}
