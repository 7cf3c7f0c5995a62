import { readFileSync } from 'node:fs';
import { Mode } from '@caisson/protocol';
import * as z from 'zod/mini';

const Program = z.object({
  command: z.string().check(z.minLength(1)),
  args: z.array(z.string()),
  env: z.optional(z.record(z.string(), z.string())),
});

/** The configuration of the ACP client; the driver writes it into the agent's HOME. */
export const AcpConfig = z.object({
  /** The user's ACP agent. */
  agent: Program,
  prompt: z.string(),
  /** Where the session could not be resumed. */
  freshPrompt: z.optional(z.string()),
  systemPrompt: z.optional(z.string()),
  model: z.optional(z.string()),
  mode: Mode,
  /** `policy.rules` of the config, for the check inside; the gate has its own copy. */
  rules: z.optional(z.array(z.unknown())),
  workspace: z.string(),
  home: z.string(),
  /** The program that decides a call; without it the client itself applies policy. */
  gate: z.optional(Program),
  /** Whether `ask` lines get an answer on stdin; otherwise an `ask` is a denial. */
  canAsk: z.boolean(),
  mcp: z.optional(Program),
  resume: z.optional(z.string()),
  /** Offer the client's own file access to the agent, inside the workspace. */
  fs: z.boolean(),
  /** The log-in method to use when the agent asks for one. */
  authMethod: z.optional(z.string()),
});
export type AcpConfig = z.infer<typeof AcpConfig>;

export function readAcpConfig(path: string): AcpConfig {
  return AcpConfig.parse(JSON.parse(readFileSync(path, 'utf8')));
}
