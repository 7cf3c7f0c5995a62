import type { McpServer } from './contract.ts';

/** The folder in the private HOME that is kept between attempts, so that a session can be resumed. */
export const sessionFolder = (home: string): string => `${home}/.caisson-session`;

/** One argument for a program that takes a shell line. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A command and its arguments as one shell line. */
export const shellLine = (command: string, args: readonly string[]): string =>
  [command, ...args].map(shellQuote).join(' ');

/** The three fields that most programs take for an MCP server. */
export const stdioServer = ({ command, args, env }: McpServer): Record<string, unknown> => ({
  command,
  args,
  env,
});
