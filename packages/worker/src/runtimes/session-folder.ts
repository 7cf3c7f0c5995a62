import { shellQuote } from '@caisson/protocol';
import type { DriverInput, McpServer } from './contract.ts';

/** The folder in the private HOME that is kept between attempts, so that a conversation can be resumed. */
export const sessionFolder = (home: string): string => `${home}/.caisson-session`;

/**
 * The gate as a hook's shell line. Programs treat 2 as a no and every other failure as a broken hook, which they
 * ignore; a gate that cannot run must deny.
 */
export const gateLine = ({ command, args }: NonNullable<DriverInput['gate']>): string =>
  `${[command, ...args].map(shellQuote).join(' ')} || exit 2`;

/** Every server in the usual form, by name; ours comes last, so that no other replaces it. */
export function stdioServers(
  { mcp, projectServers = [] }: Pick<DriverInput, 'mcp' | 'projectServers'>,
  ours: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const others = projectServers.map(({ name, ...server }) => [name, server] as const);
  return {
    ...Object.fromEntries(others),
    ...(mcp === undefined ? {} : { caisson: { ...stdioServer(mcp), ...ours } }),
  };
}

/** The three fields of an MCP server in most programs. */
const stdioServer = ({ command, args, env }: McpServer): Record<string, unknown> => ({
  command,
  args,
  env,
});
