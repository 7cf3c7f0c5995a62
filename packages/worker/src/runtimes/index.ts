import type { BuiltInRuntime } from '@caisson/protocol';
import { createAcpDriver } from './acp/driver.ts';
import { claudeCode } from './claude-code/driver.ts';
import { codex } from './codex/driver.ts';
import { command } from './command/driver.ts';
import type { RuntimeDriver } from './contract.ts';
import { gemini } from './gemini/driver.ts';
import { native } from './native/driver.ts';
import { opencode } from './opencode/driver.ts';
import { pi } from './pi/driver.ts';

/** One driver for each row of the table in protocol; the compiler asks for it. */
const DRIVERS: { readonly [K in BuiltInRuntime]: RuntimeDriver<K> } = {
  'claude-code': claudeCode,
  codex,
  gemini,
  opencode,
  pi,
  acp: createAcpDriver(findDriver),
  native,
  command,
};

/** The driver of a built-in runtime; `null` if there is none of that name. */
export function findDriver(name: string): RuntimeDriver | null {
  return Object.hasOwn(DRIVERS, name) ? DRIVERS[name as BuiltInRuntime] : null;
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
export { isSessionMissing } from './agent-cause.ts';
export { numberOf, objectOf, textOf, type Json } from './json-line.ts';
export { maskSettings } from './project-settings.ts';
