import type { ConfigFile, Mode } from '@caisson/protocol';
import type { ConfigError } from './errors.ts';
import type { ResolvedResidents } from './resident-contract.ts';
import type { SettingKey } from './settings.ts';

export type * from './resident-contract.ts';

/** Where a value came from: `flag` beats `env` beats `file` (the project's) beats `user` (the user's file) beats `default`. */
export type ConfigSource = 'flag' | 'env' | 'file' | 'user' | 'default';

/** One key of a project's file that has no effect until the user agrees to it. */
export interface Ask {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** A credential of the user that would go to an address which the project's file names. */
export interface KeySend {
  /** The key that asks for it, for example `runtimes.codex`. */
  readonly by: string;
  /** Reference of the credential, for example `env:OPENAI_API_KEY`. */
  readonly credential: string;
  /** Scheme, host and port. */
  readonly to: string;
}

/** Everything that a project's file asks for. */
export interface TrustRequest {
  readonly projectRoot: string;
  readonly asks: readonly Ask[];
  readonly sends: readonly KeySend[];
}

/** Whether the user has agreed. Where not, `reason` says what is missing. */
export type TrustDecision =
  | { readonly kind: 'nothing-asked' }
  | { readonly kind: 'granted'; readonly digest: string }
  | { readonly kind: 'required'; readonly digest: string; readonly reason: 'new' | 'changed' | 'send' };

/** Reads the record of what the user agreed to; room `trust` has it. */
export type DecideTrust = (request: TrustRequest) => Promise<TrustDecision>;

/** A caller's options. Nothing is read from the process when `env` and `cwd` are given. */
export interface LoadConfigOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * As if there were neither a `caisson.yaml` nor a user's file; then the owner of the project does not matter either.
   */
  readonly ignoresFile?: boolean;
  /** Default true. False for what concerns only the user: the project's file and its owner do not matter. */
  readonly usesProject?: boolean;
  /** Without it, nothing that a project's file asks for has an effect. */
  readonly decideTrust?: DecideTrust;
  /**
   * For callers that read, steer or stop: what this version cannot understand in a file, such as a key of a newer version,
   * counts as absent and is in `unread`; of a file that is not valid, that is all of it. Otherwise it throws.
   */
  readonly startsNothing?: boolean;
  /** Values from the command line by setting, for example `{ 'limits.timeout': '10m' }`. Undefined means absent. */
  readonly flags?: Readonly<Partial<Record<SettingKey, string | number | boolean | undefined>>>;
}

/** The user's XDG folders for Caisson. Reading them creates none. */
export interface UserFolders {
  readonly home: string;
  readonly config: string;
  readonly cache: string;
  readonly data: string;
  readonly state: string;
}

/** A setting, its value, and the source of that value. */
export interface ConfigRow {
  readonly key: string;
  readonly value: unknown;
  readonly source: ConfigSource;
  /** The file, variable or flag that holds it. */
  readonly from?: string;
  readonly line?: number;
  /** The project asks for it and the user has not agreed: it has no effect. */
  readonly isWithheld?: true;
}

/** A configuration, and the sources of its values. */
export interface ExplainedConfig {
  readonly config: ResolvedConfig;
  readonly rows: readonly ConfigRow[];
}

/**
 * The configuration after all sources were read: complete, in base units, frozen. `null` is "not limited" or "not set".
 */
export interface ResolvedConfig extends ResolvedResidents {
  readonly projectRoot: string;
  /** Absolute path of `caisson.yaml`, or null where there is none. */
  readonly file: string | null;
  /** Absolute path of the user's own file, or null where there is none. */
  readonly userFile: string | null;
  /** Whether what the project's file asks for has an effect. */
  readonly trust: TrustDecision;
  /** What the project's file asks for, agreed to or not. */
  readonly asked: TrustRequest;
  /** What was not understood in the files; never empty, and then nothing may be started or removed. */
  readonly unread?: readonly ConfigError[];
  readonly stateDir: string;
  readonly folders: UserFolders;
  readonly runtime: string | null;
  readonly mode: Mode;
  readonly runtimes: NonNullable<ConfigFile['runtimes']>;
  readonly agents: NonNullable<ConfigFile['agents']>;
  readonly envs: NonNullable<ConfigFile['envs']>;
  readonly pipelines: NonNullable<ConfigFile['pipelines']>;
  /** Name → absolute folder. */
  readonly capabilities: Readonly<Record<string, string>>;
  readonly workspace: {
    readonly include: readonly string[];
    readonly bring: readonly string[];
    readonly detect: boolean;
    readonly setup: string | null;
    readonly setupTimeoutMs: number;
  };
  readonly limits: ResolvedLimits;
  readonly budget: ResolvedBudget;
  readonly git: {
    /** As it was written; a path may be relative to the project. */
    readonly url: string | null;
    readonly token: string | null;
    readonly knownHosts: string | null;
    readonly identity: string | null;
    readonly timeoutMs: number;
    readonly cacheAgeMs: number;
    readonly maxFetchBytes: number;
  };
  readonly network: {
    readonly hosts: readonly string[];
    readonly services: NonNullable<NonNullable<ConfigFile['network']>['services']>;
  };
  readonly policy: {
    readonly ceiling: Mode;
    readonly rules: NonNullable<NonNullable<ConfigFile['policy']>['rules']>;
  };
  readonly callbacks: NonNullable<ConfigFile['callbacks']>;
  readonly questions: { readonly deadlineMs: number; readonly approvalDeadlineMs: number };
  readonly store: NonNullable<ConfigFile['store']>;
  readonly sandbox: {
    readonly toolchains: readonly string[];
    readonly homeBytes: number;
    readonly tmpBytes: number;
  };
  readonly keys: {
    /** The absolute path of the agent's socket; null where a key file signs. */
    readonly agentSocket: string | null;
    readonly identity: string | null;
  };
  /** An absolute path, or an http(s) address. */
  readonly evidence: { readonly witness: string | null };
  readonly telemetry: NonNullable<ConfigFile['telemetry']> | null;
  /** Where daemons listen; only of the user's own file. */
  readonly api: NonNullable<ConfigFile['api']>;
  /** Where the value of a setting came from: a limit the user set must be enforced, a default may be recorded as unenforced. */
  sourceOf(key: SettingKey): ConfigSource;
}

export interface ResolvedLimits {
  readonly concurrency: number;
  readonly queue: number;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly stallTimeoutMs: number | null;
  readonly memoryBytes: number | null;
  readonly cpus: number | null;
  readonly pids: number | null;
  readonly diskBytes: number | null;
  readonly captureFileBytes: number;
  readonly captureBytes: number;
  readonly spoolBytes: number;
  readonly trashBytes: number;
  readonly trashAgeMs: number;
  readonly retries: number;
  readonly failedAnswers: number;
  readonly unreachableMs: number;
  readonly adoptWithinMs: number;
  readonly depth: number;
}

export interface ResolvedBudget {
  readonly perRunUsd: number | null;
  readonly perSessionUsd: number | null;
  readonly perSessionTokens: number | null;
  readonly perSessionTurns: number | null;
  readonly perSessionToolCalls: number | null;
  readonly perDayTokens: number | null;
  readonly perDayTurns: number | null;
  readonly perDayToolCalls: number | null;
  readonly perDayUsd: number | null;
  readonly perRunTokens: number | null;
  readonly perRunTurns: number | null;
  readonly perRunToolCalls: number | null;
  readonly allowUnknownCost: boolean;
}

/** One setting that differs after a reload; the payload of the config-changed topic. */
export interface ConfigChange {
  readonly key: string;
  readonly previous: unknown;
  readonly new: unknown;
}
