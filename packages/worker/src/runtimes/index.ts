import { acp } from './acp.ts';
import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import { gemini } from './gemini.ts';
import { native } from './native.ts';
import { opencode } from './opencode.ts';
import { pi } from './pi.ts';
import { command } from './command.ts';
import type { RuntimeDriver } from './contract.ts';

const DRIVERS: readonly RuntimeDriver[] = [claudeCode, codex, gemini, opencode, pi, acp, native, command];

/** The driver of a built-in runtime; `null` where there is none of that name. */
export function findDriver(name: string): RuntimeDriver | null {
  return DRIVERS.find((driver) => driver.name === name) ?? null;
}
export type {
  AgentCommand,
  AgentEnding,
  AgentFile,
  AgentSignal,
  AgentStream,
  DriverInput,
  NamedServer,
  ProjectMask,
  RuntimeDriver,
  UsageCount,
} from './contract.ts';
export { numberOf, objectOf, textOf, type Json } from './json-line.ts';
export { maskSettings } from './project-settings.ts';
