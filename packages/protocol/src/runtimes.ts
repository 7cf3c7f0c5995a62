import * as z from 'zod/mini';
import type { Mode } from './grant.ts';

/** Why an agent that ran did not succeed; the same causes for every runtime. */
export const AGENT_CAUSES = [
  'auth',
  'rate-limit',
  'overloaded',
  'context-overflow',
  'refusal',
  'tool-failure',
  'empty-answer',
  'max-turns',
  'max-tokens',
  'api-error',
  'no-connection',
  'exit-code',
  'crash',
  'interrupted',
  'loop',
  'output-broke-off',
] as const;
export const AgentCause = z.enum(AGENT_CAUSES);
export type AgentCause = z.infer<typeof AgentCause>;

/** Levels that each runtime maps to one of its models; anything else is a native model id. */
export const MODEL_LEVELS = ['fast', 'standard', 'max'] as const;
export const ModelLevel = z.enum(MODEL_LEVELS);
export type ModelLevel = z.infer<typeof ModelLevel>;

/** Sampling options in an agent's definition. */
export type Sampling = 'maxTokens' | 'temperature';

/** Which model wire format a runtime speaks. */
export const MODEL_APIS = [
  'anthropic-messages',
  'openai-responses',
  'openai-chat',
  'gemini',
  'none',
] as const;
export type ModelApi = (typeof MODEL_APIS)[number];

/** What a tool does; `quiet` changes only the agent's own notes. */
export type ToolKind =
  | 'read'
  | 'write'
  | 'delete'
  | 'shell'
  | 'patch'
  | 'network'
  | 'dispatch'
  | 'quiet'
  | 'stop';
/** Names of tools by what they do, with a space between them; the case of letters does not count. */
export type ToolNames = Readonly<Partial<Record<ToolKind, string>>>;

/** How a runtime expresses one of our modes; `null` if it cannot, and the mode is refused. */
export interface ModeMapping {
  /** The program's own settings, for the docs table. */
  readonly own: string;
  /** Which layer decides a single tool call. */
  readonly perCall: 'hook' | 'permission-request' | 'own-settings' | 'sandbox only';
}

/** A program of ours is asked before each call. */
export const hook = (own: string): ModeMapping => ({ own, perCall: 'hook' });
export const permissionRequest = (own: string): ModeMapping => ({ own, perCall: 'permission-request' });
export const sandboxOnly = (own: string): ModeMapping => ({ own, perCall: 'sandbox only' });

/** What is known about a runtime without starting it: pure data, used by host, worker and docs. */
export interface RuntimeDescriptor<N extends string = string> {
  readonly name: N;
  readonly title: string;
  readonly npmPackage?: string;
  /** Of a package whose program only starts a native one: where that is below `node_modules`, by processor. */
  readonly native?: {
    readonly folders: Readonly<Record<string, string>>;
    /** In that folder: says which version it is, and where the program is. */
    readonly layoutFile: string;
  };
  /** Program names looked for in PATH, first found wins. Empty: nothing to find. */
  readonly bins: readonly string[];
  readonly versionArgs: readonly string[];
  /** Oldest and newest tested version, inclusive. An older one is refused, a newer one is allowed. */
  readonly testedRange?: { readonly from: string; readonly to: string };
  readonly api: ModelApi;
  /** The environment variable in which users normally keep the key. */
  readonly keyEnv?: string;
  /** Further variables that the program takes a key from; absent: it knows many vendors. */
  readonly otherKeyEnv?: readonly string[];
  /** The vendor's own service, for users with a key and no `endpoint`. */
  readonly defaultEndpoint?: string;
  /** The environment variable in which users of a gateway keep its address. Runs do not read it: `endpoint` is the setting. */
  readonly baseUrlEnv?: string;
  readonly modes: Readonly<Record<Mode, ModeMapping | null>>;
  readonly promptVia: 'stdin' | 'file' | 'argv' | 'acp' | 'none';
  readonly canResume: boolean;
  readonly canInject: boolean;
  readonly reportsCost: boolean;
  readonly reportsUsage: boolean;
  /** Reports turns and usage once, at the end, for everything it did; of a resumed conversation, since that began. */
  readonly reportsUsageOnce?: boolean;
  /** The sampling options of an agent's definition that the program supports. */
  readonly sampling: readonly Sampling[];
  /** The program's own tools. One that is not named is unknown: each call is asked about. */
  readonly tools: ToolNames;
  /** Files under the user's HOME that mean "logged in", relative to HOME. */
  readonly loginFiles: readonly string[];
  /** How a run uses that log-in; absent if it cannot. */
  readonly login?: LoginUse;
  /** What the levels of an agent's definition stand for. */
  readonly modelLevels?: Readonly<Record<ModelLevel, string>>;
  /** Programs that speak ACP with this runtime's settings, by file name, and the arguments that make them do so. */
  readonly acpPrograms?: Readonly<Record<string, readonly string[]>>;
  readonly repository?: RepositorySettings;
}

/** Far more than any program stores for a log-in. */
export const MAX_LOGIN_BYTES = 256 * 1024;

/** How a program that its user is logged in with reaches its model. */
export interface LoginUse {
  /** What a usable log-in file has at its top. */
  readonly member: string;
  /** Where the file has an API key instead, if the program's log-in can be one. It is used as a key, not as a log-in. */
  readonly keyMember?: string;
  /** What of the file's top the program needs, where the rest is of other services; absent: all of it. */
  readonly members?: readonly string[];
  /** The model's address: reached through the broker, which passes on the program's own token. */
  readonly endpoint?: string;
  /** `host:port` pairs that the program itself must reach: for a new token, and without `endpoint` for its model. */
  readonly hosts: readonly string[];
}

/** What the program reads in a repository. */
export interface RepositorySettings {
  /** Its settings folder: the program is shown an empty one instead. */
  readonly folder: string;
  /** What of the folder is a prompt and stays visible, by name. */
  readonly keep: readonly string[];
  /** Replacements for the repository's files, by name. */
  readonly instead?: Readonly<Record<string, string>>;
  /** Settings outside the folder, all of them JSON. */
  readonly files?: readonly string[];
  /** Paths that a later start of the program obeys without a question; a patch never brings them. */
  readonly obeyed: readonly string[];
  /** JSON settings that capabilities merge member by member. */
  readonly merged?: readonly string[];
  /** Each entry of this folder is a skill. */
  readonly skills?: string;
  /** Where it names MCP servers: `stdio` has command, args and env, `local` a list of words and an environment. */
  readonly servers?: {
    readonly files: readonly string[];
    readonly member: string;
    readonly shape: 'stdio' | 'local';
  };
}

/** A program that finds this one does not look for `.env` further up. */
export const NO_ENVIRONMENT = { '.env': '' };
