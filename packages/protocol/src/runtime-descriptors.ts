import type { ModelApi, RuntimeDescriptor } from './runtimes.ts';
import { ACP } from './runtimes/acp.ts';
import { CLAUDE_CODE } from './runtimes/claude-code.ts';
import { CODEX } from './runtimes/codex.ts';
import { COMMAND } from './runtimes/command.ts';
import { GEMINI } from './runtimes/gemini.ts';
import { NATIVE } from './runtimes/native.ts';
import { OPENCODE } from './runtimes/opencode.ts';
import { PI } from './runtimes/pi.ts';

/**
 * Normalises an endpoint to the base URL that the API's clients expect: OpenAI's end in a version, Anthropic's and
 * Google's do not. A path that the user chose is kept.
 */
export function normalizeEndpoint(api: ModelApi, endpoint: string): string {
  const base = endpoint.replace(/\/+$/, '');
  if (api === 'anthropic-messages') return base.replace(/\/v1$/, '');
  if (api === 'gemini') return base.replace(/\/v1(beta)?$/, '');
  const hasPath = /^[a-z]+:\/\/[^/]+\/./i.test(base);
  return hasPath || api === 'none' ? base : `${base}/v1`;
}

/** Every runtime that ships with a driver: the one table of them (CONTRIBUTING.md, "Add a runtime"). */
const TABLE = underOwnNames({
  'claude-code': CLAUDE_CODE,
  codex: CODEX,
  gemini: GEMINI,
  opencode: OPENCODE,
  pi: PI,
  acp: ACP,
  native: NATIVE,
  command: COMMAND,
});
export type BuiltInRuntime = keyof typeof TABLE;

function underOwnNames<T extends { readonly [K in keyof T]: RuntimeDescriptor<K & string> }>(table: T): T {
  return table;
}

/** What is known about each runtime. `runtimes.X.adapter` in the config adds others, of which nothing is known. */
export const RUNTIME_DESCRIPTORS: Readonly<Record<string, RuntimeDescriptor>> = TABLE;
export const BUILT_IN_RUNTIMES: readonly string[] = Object.keys(TABLE);
