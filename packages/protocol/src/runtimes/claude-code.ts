import { hook, type RuntimeDescriptor } from '../runtimes.ts';

export const CLAUDE_CODE: RuntimeDescriptor<'claude-code'> = {
  name: 'claude-code',
  title: 'Claude Code',
  npmPackage: '@anthropic-ai/claude-code',
  bins: ['claude'],
  versionArgs: ['--version'],
  testedRange: { from: '2.1.200', to: '2.1.325' },
  api: 'anthropic-messages',
  keyEnv: 'ANTHROPIC_API_KEY',
  otherKeyEnv: [
    ...['ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN', 'ANTHROPIC_FOUNDRY_API_KEY'],
    ...['AWS_BEARER_TOKEN_BEDROCK', 'AWS_ACCESS_KEY_ID'],
  ],
  defaultEndpoint: 'https://api.anthropic.com',
  baseUrlEnv: 'ANTHROPIC_BASE_URL',
  modes: {
    suggest: hook('--permission-mode dontAsk; allowed: Read, Grep, Glob, LS'),
    'auto-edit': hook('--permission-mode acceptEdits; allowed: Edit, Write, NotebookEdit, Bash, WebFetch'),
    'full-auto': hook('--permission-mode bypassPermissions'),
  },
  promptVia: 'stdin',
  canResume: true,
  canInject: false,
  reportsCost: true,
  reportsUsage: true,
  sampling: ['maxTokens'],
  tools: {
    read: 'Read NotebookRead Glob Grep LS LSP BashOutput TaskOutput ReadMcpResourceTool ListMcpResourcesTool',
    write: 'Write Edit MultiEdit NotebookEdit',
    shell: 'Bash PowerShell',
    network: 'WebFetch WebSearch',
    dispatch: 'Task Agent',
    quiet: 'TodoWrite EnterPlanMode ExitPlanMode AskUserQuestion Skill ToolSearch',
    stop: 'KillShell KillBash TaskStop',
  },
  loginFiles: ['.claude/.credentials.json'],
  login: {
    member: 'claudeAiOauth',
    members: ['claudeAiOauth', 'organizationUuid'],
    endpoint: 'https://api.anthropic.com',
    hosts: ['platform.claude.com:443'],
  },
  modelLevels: { fast: 'haiku', standard: 'sonnet', max: 'opus' },
  acpPrograms: { 'claude-agent-acp': [], 'claude-code-acp': [] },
  repository: {
    folder: '.claude',
    // Its skills, commands and agents are more than prompts: they bring hooks, shell commands that run when they are
    // read, and permissions for tools, all of it before the gate is asked.
    keep: ['CLAUDE.md', 'rules'],
    files: ['.mcp.json'],
    obeyed: ['.claude/settings.json', '.claude/settings.local.json', '.claude/hooks'],
    merged: ['.claude/settings.json', '.claude/settings.local.json', '.mcp.json'],
    skills: '.claude/skills',
    servers: { files: ['.mcp.json'], member: 'mcpServers', shape: 'stdio' },
  },
};
