// Claude Code. The prompt goes over stdin, settings and MCP servers in files, conversations into the kept folder. Only
// `result` has cost and exact usage; `assistant` lines repeat one message's usage per content block.

import type { AgentCommand, AgentFile, AgentStream, DriverInput, RuntimeDriver } from '../contract.ts';
import { createClaudeCodeStream } from './stream.ts';
import { samplingOf } from '../sampling.ts';
import { gateLine, stdioServers } from '../session-folder.ts';

const SETTINGS = '.caisson/claude-settings.json';
const MCP = '.caisson/claude-mcp.json';
const SYSTEM_PROMPT = '.caisson/claude-system-prompt.md';

/**
 * What may run without a question. `dontAsk` denies everything that is not listed or read-only by Claude's own rules.
 */
const PERMISSIONS = {
  suggest: { mode: 'dontAsk', allow: ['Read', 'Grep', 'Glob', 'LS'] },
  'auto-edit': {
    mode: 'acceptEdits',
    allow: ['Read', 'Grep', 'Glob', 'LS', 'Edit', 'Write', 'NotebookEdit', 'Bash', 'WebFetch'],
  },
  'full-auto': { mode: 'bypassPermissions', allow: [] },
} as const;

/** Tools that leave the workspace or outlive the turn; Claude decides about the rest. */
const NEVER = ['EnterWorktree', 'ExitWorktree', 'CronCreate', 'CronDelete', 'CronList', 'ScheduleWakeup'];

export const claudeCode: RuntimeDriver<'claude-code'> = {
  name: 'claude-code',
  command: (input): AgentCommand => ({
    argv: argvOf(input),
    env: envOf(input),
    stdin: input.prompt,
    files: filesOf(input),
    // Only its transcripts: its usual folder may have a mounted log-in, too.
    kept: [`${input.home}/.claude/projects`],
  }),
  createStream: (start): AgentStream => createClaudeCodeStream(start?.resume?.usage),
};

function argvOf(input: DriverInput): readonly string[] {
  const at = (file: string) => `${input.home}/${file}`;
  return [
    input.bin,
    '-p',
    '--output-format',
    'stream-json',
    '--verbose',
    '--permission-mode',
    PERMISSIONS[input.mode].mode,
    '--settings',
    at(SETTINGS),
    '--setting-sources',
    'project',
    '--strict-mcp-config',
    ...(hasServers(input) ? ['--mcp-config', at(MCP)] : []),
    ...(input.systemPrompt === undefined ? [] : ['--append-system-prompt-file', at(SYSTEM_PROMPT)]),
    ...(input.model === undefined ? [] : ['--model', input.model]),
    ...(input.resume === undefined ? [] : ['--resume', input.resume.sessionId]),
  ];
}

function envOf(input: DriverInput): Record<string, string> {
  const { maxTokens } = samplingOf(input);
  return {
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    CLAUDE_CODE_DISABLE_TERMINAL_TITLE: '1',
    // The host retries overload and rate limits with its own backoff; ten tries inside only hide them.
    CLAUDE_CODE_MAX_RETRIES: '3',
    // Otherwise MCP tools are not offered but hidden behind a search tool.
    ENABLE_TOOL_SEARCH: 'false',
    ...(maxTokens === undefined ? {} : { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(maxTokens) }),
    // Root may bypass permissions only in a sandbox; ours applies.
    ...(input.isRoot ? { IS_SANDBOX: '1' } : {}),
    ...(input.endpoint === undefined ? {} : { ANTHROPIC_BASE_URL: input.endpoint.baseUrl }),
    ...(input.endpoint === undefined || input.usesLogin === true
      ? {}
      : { ANTHROPIC_API_KEY: input.endpoint.apiKey }),
  };
}

function filesOf(input: DriverInput): readonly AgentFile[] {
  const file = (path: string, content: string): AgentFile => ({ path: `${input.home}/${path}`, content });
  const files = [file(SETTINGS, JSON.stringify(settingsOf(input)))];
  if (hasServers(input)) files.push(file(MCP, JSON.stringify({ mcpServers: stdioServers(input) })));
  if (input.systemPrompt !== undefined) files.push(file(SYSTEM_PROMPT, input.systemPrompt));
  return files;
}

const hasServers = ({ mcp, projectServers = [] }: DriverInput): boolean =>
  mcp !== undefined || projectServers.length > 0;

function settingsOf(input: DriverInput): unknown {
  const others =
    input.mode === 'suggest' ? [] : (input.projectServers ?? []).map(({ name }) => `mcp__${name}`);
  const mcp = [...(input.mcp === undefined ? [] : ['mcp__caisson']), ...others];
  return {
    permissions: { allow: [...PERMISSIONS[input.mode].allow, ...mcp], deny: NEVER },
    // A setting of the repo must not switch our gate off.
    disableAllHooks: false,
    includeCoAuthoredBy: false,
    ...(input.gate === undefined ? {} : { hooks: hooksOf(input.gate) }),
  };
}

function hooksOf(gate: NonNullable<DriverInput['gate']>): unknown {
  const command = gateLine(gate);
  return { PreToolUse: [{ matcher: '*', hooks: [{ type: 'command', command, timeout: 330 }] }] };
}
