import { hook, type RuntimeDescriptor } from '../runtimes.ts';

export const CODEX: RuntimeDescriptor<'codex'> = {
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
  reportsUsageOnce: true,
  sampling: [],
  loginFiles: ['.codex/auth.json'],
  login: {
    member: 'tokens',
    endpoint: 'https://chatgpt.com/backend-api/codex',
    hosts: ['auth.openai.com:443'],
  },
  modelLevels: { fast: 'gpt-5-codex-mini', standard: 'gpt-5-codex', max: 'gpt-5.1-codex-max' },
  repository: {
    folder: '.codex',
    keep: ['skills', 'prompts'],
    obeyed: ['.codex'],
    skills: '.codex/skills',
    servers: { files: ['.codex/config.toml'], member: 'mcp_servers', shape: 'stdio' },
  },
};
