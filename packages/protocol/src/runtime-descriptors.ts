import type { ModelApi, ModeMapping, RuntimeDescriptor } from './runtimes.ts';

/**
 * Brings an endpoint to the form that the API's clients expect as their base URL: OpenAI's end in a version,
 * Anthropic's and Google's do not. A path that the user chose is kept.
 */
export function normalizeEndpoint(api: ModelApi, endpoint: string): string {
  const base = endpoint.replace(/\/+$/, '');
  if (api === 'anthropic-messages') return base.replace(/\/v1$/, '');
  if (api === 'gemini') return base.replace(/\/v1(beta)?$/, '');
  const hasPath = /^[a-z]+:\/\/[^/]+\/./i.test(base);
  return hasPath || api === 'none' ? base : `${base}/v1`;
}

const hook = (own: string): ModeMapping => ({ own, perCall: 'hook' });

const CLAUDE_CODE: RuntimeDescriptor = {
  name: 'claude-code',
  title: 'Claude Code',
  npmPackage: '@anthropic-ai/claude-code',
  bins: ['claude'],
  versionArgs: ['--version'],
  testedRange: { from: '2.1.200', to: '2.1.325' },
  api: 'anthropic-messages',
  keyEnv: 'ANTHROPIC_API_KEY',
  defaultEndpoint: 'https://api.anthropic.com',
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
  loginFiles: ['.claude/.credentials.json'],
};

const CODEX: RuntimeDescriptor = {
  name: 'codex',
  title: 'Codex',
  npmPackage: '@openai/codex',
  bins: ['codex'],
  versionArgs: ['--version'],
  testedRange: { from: '0.145.0', to: '0.166.0' },
  api: 'openai-responses',
  keyEnv: 'OPENAI_API_KEY',
  defaultEndpoint: 'https://api.openai.com/v1',
  modes: {
    suggest: hook('--dangerously-bypass-approvals-and-sandbox; our workspace is read-only'),
    'auto-edit': hook('--dangerously-bypass-approvals-and-sandbox'),
    'full-auto': hook('--dangerously-bypass-approvals-and-sandbox'),
  },
  promptVia: 'stdin',
  canResume: true,
  canInject: false,
  reportsCost: false,
  reportsUsage: true,
  tellsUsageOnce: true,
  sampling: [],
  loginFiles: ['.codex/auth.json'],
};

const GEMINI: RuntimeDescriptor = {
  name: 'gemini',
  title: 'Gemini CLI',
  npmPackage: '@google/gemini-cli',
  bins: ['gemini'],
  versionArgs: ['--version'],
  testedRange: { from: '0.44.0', to: '0.61.0' },
  api: 'gemini',
  keyEnv: 'GEMINI_API_KEY',
  defaultEndpoint: 'https://generativelanguage.googleapis.com',
  modes: {
    suggest: hook(
      '--approval-mode default; policy file: write_file, replace, run_shell_command, web_fetch deny',
    ),
    'auto-edit': hook('--approval-mode auto_edit; policy file: run_shell_command, web_fetch allow'),
    'full-auto': hook('--approval-mode yolo'),
  },
  promptVia: 'stdin',
  canResume: true,
  canInject: false,
  reportsCost: false,
  reportsUsage: true,
  sampling: ['maxTokens', 'temperature'],
  loginFiles: ['.gemini/oauth_creds.json'],
};

const OPENCODE: RuntimeDescriptor = {
  name: 'opencode',
  title: 'opencode',
  npmPackage: 'opencode-ai',
  bins: ['opencode'],
  versionArgs: ['--version'],
  testedRange: { from: '1.17.0', to: '1.18.33' },
  api: 'openai-chat',
  keyEnv: 'OPENAI_API_KEY',
  defaultEndpoint: 'https://api.openai.com/v1',
  modes: {
    suggest: hook('permission: edit, bash, webfetch, external_directory deny'),
    'auto-edit': hook('permission: edit, bash, webfetch allow; external_directory deny'),
    'full-auto': hook('permission: edit, bash, webfetch, external_directory allow'),
  },
  promptVia: 'stdin',
  canResume: true,
  canInject: false,
  reportsCost: true,
  reportsUsage: true,
  sampling: ['maxTokens', 'temperature'],
  loginFiles: [], // its data folder is ours, so a lent log-in would not be found
};

const PI: RuntimeDescriptor = {
  name: 'pi',
  title: 'Pi',
  npmPackage: '@earendil-works/pi-coding-agent',
  bins: ['pi'],
  versionArgs: ['--version'],
  testedRange: { from: '0.73.1', to: '1.5.0' },
  api: 'anthropic-messages',
  keyEnv: 'ANTHROPIC_API_KEY',
  defaultEndpoint: 'https://api.anthropic.com',
  modes: {
    suggest: hook('--tools read,grep,find,ls'),
    'auto-edit': hook('--tools read,grep,find,ls,bash,edit,write'),
    'full-auto': hook('--tools read,grep,find,ls,bash,edit,write'),
  },
  promptVia: 'stdin',
  canResume: true,
  canInject: false,
  reportsCost: false,
  reportsUsage: true,
  sampling: ['maxTokens', 'temperature'],
  loginFiles: ['.pi/agent/auth.json'],
};

const NATIVE: RuntimeDescriptor = {
  name: 'native',
  title: 'Native agent',
  bins: [],
  versionArgs: [],
  api: 'anthropic-messages',
  keyEnv: 'ANTHROPIC_API_KEY',
  defaultEndpoint: 'https://api.anthropic.com',
  modes: {
    suggest: hook('policy gate in the agent itself'),
    'auto-edit': hook('policy gate in the agent itself'),
    'full-auto': hook('policy gate in the agent itself'),
  },
  promptVia: 'file',
  canResume: true,
  canInject: true,
  reportsCost: false,
  reportsUsage: true,
  sampling: ['maxTokens', 'temperature'],
  loginFiles: [],
};

const request = (own: string): ModeMapping => ({ own, perCall: 'permission-request' });

const ACP: RuntimeDescriptor = {
  name: 'acp',
  title: 'Any ACP agent',
  bins: [],
  versionArgs: ['--version'],
  api: 'none',
  modes: {
    suggest: request('session/request_permission; our workspace is read-only'),
    'auto-edit': request('session/request_permission'),
    'full-auto': request('session/request_permission'),
  },
  promptVia: 'acp',
  canResume: true,
  canInject: false,
  reportsCost: false,
  reportsUsage: true,
  sampling: [],
  loginFiles: [],
};

const sandboxOnly = (own: string): ModeMapping => ({ own, perCall: 'sandbox only' });

const COMMAND: RuntimeDescriptor = {
  name: 'command',
  title: 'Your own command',
  bins: [],
  versionArgs: [],
  api: 'none',
  modes: {
    suggest: sandboxOnly('workspace read-only'),
    'auto-edit': sandboxOnly('none'),
    'full-auto': sandboxOnly('none'),
  },
  promptVia: 'none',
  canResume: false,
  canInject: false,
  reportsCost: false,
  reportsUsage: false,
  sampling: [],
  loginFiles: [],
};

/** Every runtime that ships with a driver, by name. */
export const RUNTIME_DESCRIPTORS: Readonly<Record<string, RuntimeDescriptor>> = Object.fromEntries(
  [CLAUDE_CODE, CODEX, GEMINI, OPENCODE, PI, ACP, NATIVE, COMMAND].map((descriptor) => [
    descriptor.name,
    descriptor,
  ]),
);
