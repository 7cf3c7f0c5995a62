/** What dispatch works with: the other rooms' doors, the resolver of names, and the settings. */
import type { Clock, StageLimits } from '@caisson/ground';
import type { BudgetCaps, Grant, Limits, Mode } from '@caisson/protocol';
import type { Names } from '../registry/index.ts';
import type { Budget } from '../budget/index.ts';
import type { Compute } from '../compute/index.ts';
import type { ProgramFile } from '../discovery/index.ts';
import type { Emit, EventFeed, Ledger, Recorder } from '../ledger/index.ts';
import type { Sessions } from '../session/index.ts';
import type { Store } from '../store/index.ts';
import type { Workspaces } from '../workspace/index.ts';

/** The configuration, resolved once by the engine. */
export interface DispatchSettings {
  readonly projectRoot: string;
  readonly stateDir: string;
  readonly cwd: string;
  readonly home: string;
  /** Where this user's Caisson keeps what is of no project. */
  readonly userState: string;
  readonly path: string;
  /** All variables of the caller, in memory only. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly hostEnv: Readonly<Record<string, string>>;
  /** `TRACEPARENT` of the caller, as it is. */
  readonly traceparent: string | undefined;
  readonly defaultRuntime: string | null;
  readonly defaultMode: Mode;
  readonly ceiling: Mode;
  readonly rules: readonly Record<string, unknown>[];
  /** False where a file of the configuration was not understood: it may have more rules. */
  readonly hasAllRules: boolean;
  /** Files that the settings run outside the sandbox (adapters, programs): no agent may change them. */
  readonly hostFiles: readonly string[];
  /** Command lines that the settings run outside the sandbox: `exec:` references. */
  readonly hostCommands: readonly string[];
  readonly concurrency: number;
  readonly queueLimit: number;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly stallTimeoutMs: number | null;
  readonly heartbeatMs: number;
  readonly limits: Limits;
  /** Limits that a user set: they must be enforced. Others are recorded when they cannot be. */
  readonly chosenLimits: readonly (keyof Limits)[];
  readonly spoolBytes: number;
  /** The size limits of one captured file, and of all files together. */
  readonly captureLimits: StageLimits;
  readonly retries: number;
  /** For so long a worker of a daemon goes on without it; 0: not at all. */
  readonly adoptWithinMs: number;
  /** So many requests to the model may fail in a row. */
  readonly failedAnswers: number;
  /** For so long no connection to the model may be possible. */
  readonly unreachableMs: number;
  readonly depth: number;
  readonly budget: BudgetCaps;
  readonly hosts: readonly string[];
  /** Services whose key the broker has, by name; offered to runs that are granted their host. */
  readonly services: Readonly<
    Record<
      string,
      { readonly endpoint: string; readonly apiKey: string; readonly header?: string | undefined }
    >
  >;
  /** How remote repositories are reached. */
  readonly git: {
    /** The repository of runs that name none, and where its token is. */
    readonly url?: string;
    readonly token?: string;
    /** The project's own file names the address, and the user agreed. */
    readonly isUrlOfProject: boolean;
    /** For each connection. */
    readonly timeoutMs: number;
    /** The largest pack that is accepted. */
    readonly maxFetchBytes: number;
    readonly knownHosts?: string;
    readonly identity?: string;
    readonly agentSocket?: string;
  };
  readonly workspaceInclude: readonly string[];
  /** Ignored files and folders that every run brings, and whether those that tools need are looked for. */
  readonly bring: readonly string[];
  readonly detectsFolders: boolean;
  readonly setup: string | null;
  readonly setupTimeoutMs: number;
  readonly questionDeadlineMs: number;
  readonly toolchains: readonly string[];
  /** Caisson's own paths that no run may see; `forInPlace`: covered also if it does not exist yet. */
  privatePaths(forInPlace?: boolean): readonly string[];
  readonly homeBytes: number;
  readonly tmpBytes: number;
  readonly node: string;
  /** The folder of our bundles. */
  readonly bundles: string;
  /** Command lines of our programs inside. */
  readonly programs: { readonly relay: readonly string[]; readonly toolShim: readonly string[] };
}

export type { FoundAgent, FoundEnvBundle, FoundRuntime, Names, RuntimeNames } from '../registry/index.ts';

export interface SecretsDoor {
  /** Refuses a reference that can never be resolved. */
  check(ref: string): string | null;
  resolve(ref: string): Promise<string>;
}

/** Callbacks about a run. */
export interface CallbacksDoor {
  /** Remembers the endpoints of a run before it is accepted. */
  open(runId: string, urls: readonly string[]): void;
  /** Throws when a key or token of the run's endpoints cannot be found. */
  check(runId: string): Promise<void>;
}

/** Everything that a worker may ask of the host while it runs. */
export interface RequestHandler {
  answer(
    run: {
      runId: string;
      attempt: number;
      grant: Grant;
      session: string | null;
      trace: string;
      /** Records an event of the run and resolves when it is durable. */
      readonly emit: Emit;
    },
    request: {
      id: string;
      request: string;
      body: Record<string, unknown>;
      /**
       * How long it has waited, where it was made to the host before: what that one began is continued, not done twice.
       * Null for a new one.
       */
      waitedMs: number | null;
    },
  ): Promise<{ ok: boolean; value?: unknown }>;
  /**
   * The attempt has ended, here or in a dead host: everything that is still open for its run is closed, on disk too.
   */
  close(runId: string, emit: Emit): Promise<void>;
}

/** The rooms dispatch works with; built by the engine. */
export interface DispatchRooms {
  readonly hostId: string;
  readonly clock: Clock;
  readonly ledger: Ledger;
  /** Writes every durable event; nothing here appends to the ledger by itself. */
  readonly recorder: Recorder;
  readonly feed: EventFeed;
  readonly store: Store;
  readonly compute: Compute;
  readonly workspaces: Workspaces;
  readonly names: Names;
  readonly budget: Budget;
  readonly secrets: SecretsDoor;
  readonly callbacks: CallbacksDoor;
  readonly requests: RequestHandler;
  /** This host is a daemon: its workers wait for the next one when it is gone. */
  readonly isDaemon: boolean;
  readonly sessions: Pick<Sessions, 'paths'>;
  readonly settings: DispatchSettings;
  /** Whether a sandbox is possible here: `null` when it is. */
  probeSandbox(): Promise<{ detail: string; remedy: string } | null>;
  /**
   * Signs the evidence of a run whose terminal event is durable; everything it needs is in ledger and store. `isLate`
   * says that another process recorded the ending.
   */
  seal(runId: string, options?: { readonly isLate?: boolean }): Promise<void>;
  /** Makes a first seal faster, of this process or of the program; called when that has begun and we are idle. */
  prepareToSeal(program: ProgramFile | null): void;
  /** Gives back a part of the space that was set aside for endings; false when nothing is left of it. */
  freeReserve(): boolean;
  /** Notes in the user's own configuration that runs of this runtime use their log-in. */
  rememberLogin(runtime: string): Promise<void>;
  /** Settles what dead hosts hold, so that they never keep a slot or a place in the queue for ever. */
  recoverDead(): Promise<unknown>;
}
