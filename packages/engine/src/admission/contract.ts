/**
 * A run from queue to outcome: admit → place → prepare → launch → supervise → settle, one file a stage.
 *
 * D1  A run has exactly one terminal event, whatever is killed and at any time (invariant 1).
 * D2  Nothing is dispatched twice: an attempt is on disk before its worker gets `go`; without it a worker does nothing.
 * D3  A run keeps its slot from `place` to the end of `settle`, also while an attempt waits for its retry.
 * D4  Nothing is cleaned up before the checkpoint is durable (invariant 10).
 */
import type { Readable } from 'node:stream';
import type {
  Adoptable,
  DispatchRequest,
  Bind,
  InsideFile,
  DispatchResult,
  EventEnvelope,
  EventType,
  Grant,
  OutputName,
  PipelineSpec,
  Resolved,
} from '@caisson/protocol';
import type { RunRow, StoredOf } from '../ledger/index.ts';
import type { DispatchRooms, FoundRuntime, FoundAgent } from './rooms.ts';

export type { Refusal } from '../platform/index.ts';
export type { DispatchRequest } from '@caisson/protocol';
/** Variables for the run that continues a stored one. */
export type GivenVariables = Pick<DispatchRequest, 'env' | 'passEnv'>;
/** What the one who answers gives; `within` bounds the run that continues, too. */
export type GivenWithAnswer = GivenVariables & Pick<DispatchRequest, 'within'>;
export type WorkspaceKind = NonNullable<DispatchRequest['workspace']>;

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
  /** Settings of version managers that exist only inside. */
  readonly files: readonly InsideFile[];
  readonly attachment?: Attachment | undefined;
}

/** A person's streams around a plain command that this process drives; they change nothing of its record. */
export interface Attachment {
  /** Resolves when the bytes are taken: a slow reader slows the command. Must not reject. */
  write?(name: OutputName, parts: readonly Uint8Array[]): Promise<void>;
  /** What the command reads; without it its stdin is empty. The first attempt gets it. */
  readonly input?: Readable;
  /** Both streams go to the same place: they are one, in the exact order, and recorded as stdout. */
  readonly isMerged?: boolean;
}

export interface ReadOptions {
  /** Read what follows this `seq`. Default: from the beginning. */
  readonly after?: number;
  /** Only these; a `gap` comes in any case. Default: every type. */
  readonly types?: readonly EventType[];
  readonly signal?: AbortSignal;
}

export interface AttachOptions {
  /** Ends the wait for `ended`, which then rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** A run that is under way in this host. */
export interface RunHandle {
  readonly runId: string;
  /** The task's idempotency key already belonged to this run; nothing new was started. */
  readonly isEarlier?: boolean;
  /** Another process drives it: it goes on when this one ends. */
  readonly isElsewhere?: boolean;
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

/** A run of a dead host whose worker can be adopted. */
export interface AdoptableRun {
  readonly row: RunRow;
  readonly launched: StoredOf<'attempt.launched'>;
  readonly adoption: Adoptable;
}

export interface Dispatcher {
  /** `rooms`: as the caller sees them, if another process asks. */
  dispatch(request: DispatchRequest, attachment?: Attachment, rooms?: DispatchRooms): Promise<RunHandle>;
  /** The run if this host drives it. */
  active(runId: string): RunHandle | null;
  /** Every run that this host drives. */
  underWay(): readonly RunHandle[];
  /**
   * Stops every run of this host, also one whose admission is under way (`cancelled`, cause `shutdown`), and waits for
   * their endings. A run that a user cancelled before stays cancelled.
   */
  shutdown(options?: { force?: boolean }): Promise<void>;
  /**
   * Drives a run of a dead host whose worker goes on (see attempt/adopt.ts). Resolves when this host owns it; what follows
   * is as with any run of this host. False when this host ends meanwhile: the worker goes on waiting, for the next daemon.
   */
  adopt(left: AdoptableRun): Promise<boolean>;
  /**
   * Leaves every run whose worker goes on without a host to the next one, stops the others as `shutdown` does, and waits
   * for their endings.
   */
  leave(): Promise<void>;
  /** Aborted with the first `shutdown`. */
  readonly closing: AbortSignal;
}
