import { readFileSync } from 'node:fs';
import { Mode } from '@caisson/protocol';
import * as z from 'zod/mini';

/** Wire formats the native agent can speak. */
export const NATIVE_APIS = ['anthropic-messages', 'openai-responses', 'openai-completions'] as const;

/** The configuration of the native agent. The key is the broker's placeholder, never a real one. */
export const NativeConfig = z.object({
  prompt: z.string(),
  systemPrompt: z.optional(z.string()),
  model: z.string().check(z.minLength(1)),
  api: z.enum(NATIVE_APIS),
  baseUrl: z.string().check(z.minLength(1)),
  apiKey: z.string(),
  mode: Mode,
  /** `policy.rules` of the config; parsed by the gate, which loads policy with the first call. */
  rules: z.optional(z.array(z.unknown())),
  workspace: z.string(),
  home: z.string(),
  /** Tools to offer; absent: all of them. */
  tools: z.optional(z.array(z.string())),
  /** UNIX socket of the coordination server; absent when the grant names none of its tools. */
  mcpSocket: z.optional(z.string()),
  /** Whether `ask` lines get an answer on stdin; otherwise an `ask` is a denial. */
  canAsk: z.optional(z.boolean()),
  /** Where conversations are stored; absent: nowhere. */
  sessionFolder: z.optional(z.string()),
  /** The conversation to continue. */
  resume: z.optional(z.string()),
  maxTurns: z.optional(z.int().check(z.positive())),
  /** Longest answer of the model, and how it samples; what is absent is the service's default. */
  maxTokens: z.optional(z.int().check(z.positive())),
  temperature: z.optional(z.number().check(z.nonnegative())),
});
export type NativeConfig = z.infer<typeof NativeConfig>;

const CONFIG_FD = 3;

/** Reads the config from the file that argv names, else from descriptor 3. */
export function readNativeConfig(path: string | undefined): NativeConfig {
  return NativeConfig.parse(JSON.parse(readFileSync(path ?? CONFIG_FD, 'utf8')));
}
