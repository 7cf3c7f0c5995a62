import * as z from 'zod/mini';
import type { Mode } from './grant.ts';

/** The runtimes that ship with Caisson. `runtimes.X.adapter` in the config adds others. */
export const BUILT_IN_RUNTIMES = [
  'claude-code',
  'codex',
  'gemini',
  'opencode',
  'pi',
  'acp',
  'native',
  'command',
] as const;
export type BuiltInRuntime = (typeof BUILT_IN_RUNTIMES)[number];

/** Why an agent that ran did not succeed; the same words for every runtime. */
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
] as const;
export const AgentCause = z.enum(AGENT_CAUSES);
export type AgentCause = z.infer<typeof AgentCause>;

/** How a model answers, as an agent's definition says it. */
export type Sampling = 'maxTokens' | 'temperature';

/** Which model wire format a runtime speaks. */
export type ModelApi = 'anthropic-messages' | 'openai-responses' | 'openai-chat' | 'gemini' | 'none';

/** How a runtime expresses one of our modes; `null` where it cannot, and the mode is refused. */
export interface ModeMapping {
  /** What is set in the program, in the program's own words, for the docs table. */
  readonly own: string;
  /** Which layer decides a single tool call. */
  readonly perCall: 'hook' | 'permission-request' | 'own-settings' | 'sandbox only';
}

/** What is known about a runtime without starting it: pure data, used by host, worker and docs. */
export interface RuntimeDescriptor {
  readonly name: string;
  readonly title: string;
  readonly npmPackage?: string;
  /** Program names looked for in PATH, first found wins. Empty: nothing to find. */
  readonly bins: readonly string[];
  readonly versionArgs: readonly string[];
  /** Oldest and newest version that were tried, inclusive. An older one is refused, a newer one is let through. */
  readonly testedRange?: { readonly from: string; readonly to: string };
  readonly api: ModelApi;
  /** Name of the environment variable that users normally keep the key in. */
  readonly keyEnv?: string;
  /** Where the vendor's own service is, for users with a key and no `endpoint` set. */
  readonly defaultEndpoint?: string;
  readonly modes: Readonly<Record<Mode, ModeMapping | null>>;
  readonly promptVia: 'stdin' | 'file' | 'argv' | 'acp' | 'none';
  readonly canResume: boolean;
  readonly canInject: boolean;
  readonly reportsCost: boolean;
  readonly reportsUsage: boolean;
  /** Tells turns and usage once, at the end, for all it did; of a resumed session, for all since that began. */
  readonly tellsUsageOnce?: boolean;
  /** What an agent's definition may say about its model's answers, and the program takes. */
  readonly sampling: readonly Sampling[];
  /** Files under the user's HOME that mean "logged in", relative to HOME. */
  readonly loginFiles: readonly string[];
}
