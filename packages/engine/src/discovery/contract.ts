import type { ModelApi, RuntimeConfig, RuntimeDescriptor } from '@caisson/protocol';

/** `fail`: runs are refused or lost. `warn`: something is weaker or unusual. */
export type Verdict = 'ok' | 'warn' | 'fail';

/** What one probe found. A verdict that is not `ok` always carries a remedy. */
export interface ProbeReport {
  /** Stable, kebab-case; public API. */
  readonly id: string;
  readonly verdict: Verdict;
  readonly detail: string;
  readonly remedy?: string;
  /** What `doctor --repair` does about it; not reported where it has just tried. */
  readonly repair?: string;
  /** What that means for the evidence, in the words of `verify`. */
  readonly outcome?: 'tampered' | 'unsealed' | 'incomplete';
  /** Each thing that was found, where there are several. */
  readonly findings?: readonly string[];
  /** The findings for a person, together where they have one cause; `detail` only counts them then. */
  readonly lines?: readonly string[];
}

/** What probes may read. They never write outside their own temporary folder. */
export interface ProbeContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly stateDir: string;
  readonly runtimes: Readonly<Record<string, RuntimeConfig>>;
  readonly signal?: AbortSignal;
}

/** A probe never throws: an error is its finding. */
export interface Probe {
  readonly id: string;
  run(context: ProbeContext): Promise<Omit<ProbeReport, 'id'>>;
}

/** How a runtime would identify itself to its model. `no-key`: its endpoint needs none. */
export type LoginState = 'key' | 'login' | 'login-unused' | 'no-key' | 'none' | 'not-needed';

export interface Credential {
  readonly kind: LoginState;
  /** The same in words: exactly what a run would use, or what is missing. */
  readonly uses: string;
  /** Why a run would be refused; absent if it would not. */
  readonly refusal?: string;
}

/** What decides how a run identifies itself to its model. */
export interface CredentialFacts {
  readonly descriptor: RuntimeDescriptor;
  readonly api: ModelApi;
  /** Whether the user agreed that runs use their log-in. */
  readonly login: boolean;
  readonly foundLogin: FoundLogin | null;
  readonly apiKeyRef: string | null;
  readonly endpoint: string | null;
  /** An address in the user's environment that the key may be meant for, and that is not used. */
  readonly otherAddress: OtherAddress | null;
  readonly adapter: unknown;
  /** Names of the variables that the run is given. */
  readonly given: readonly string[];
  /** Why a reference cannot be resolved; null if it may. */
  checkRef(ref: string): string | null;
}

export interface OtherAddress {
  readonly variable: string;
  readonly url: string;
}

/** A log-in of the user's in a program's own file. */
export interface FoundLogin {
  /** Relative to HOME, as the descriptor names it. */
  readonly file: string;
  readonly path: string;
  /** Why no run can use it; null if one can. */
  readonly problem: string | null;
  /** The reference that uses it as a key: the log-in is an API key. */
  readonly keyRef?: string;
}

/** A runtime that can be used here, or that is configured and cannot be found (`path` null). */
export interface DiscoveredRuntime {
  readonly name: string;
  readonly title: string;
  readonly kind: 'program' | 'built-in' | 'custom';
  readonly path: string | null;
  /** The user's own adapter, as the configuration names it. */
  readonly adapter?: string;
  /** Null if the program did not report it. */
  readonly version: string | null;
  readonly testedRange: { readonly from: string; readonly to: string } | null;
  readonly fit: 'tested' | 'older' | 'newer' | 'unknown';
  readonly login: LoginState;
  /** What a run would use to identify itself, in words. */
  readonly uses: string;
  readonly reports: { readonly usage: boolean; readonly cost: boolean };
  /** Why the program is not usable, if it is not. */
  readonly problem: string | null;
}

/** What a project's files say about it, in words of ours. */
export interface RepositoryFacts {
  readonly languages: readonly string[];
  readonly packageManager: string | null;
  /** The packages of a monorepo; 0 if it is none. */
  readonly packageCount: number;
  /** The command that runs the tests. */
  readonly tests: string | null;
  /** Whether `.env` is in the project's root. */
  readonly hasEnvFile: boolean;
}
