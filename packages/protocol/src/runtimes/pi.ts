import { hook, type RuntimeDescriptor } from '../runtimes.ts';

export const PI: RuntimeDescriptor<'pi'> = {
  name: 'pi',
  title: 'Pi',
  npmPackage: '@earendil-works/pi-coding-agent',
  bins: ['pi'],
  versionArgs: ['--version'],
  testedRange: { from: '0.73.1', to: '1.5.0' },
  api: 'anthropic-messages',
  keyEnv: 'ANTHROPIC_API_KEY',
  defaultEndpoint: 'https://api.anthropic.com',
  baseUrlEnv: 'ANTHROPIC_BASE_URL',
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
  tools: {
    read: 'read grep find ls',
    write: 'write edit',
    shell: 'bash',
  },
  loginFiles: ['.pi/agent/auth.json'],
  login: {
    member: 'anthropic',
    members: ['anthropic'],
    endpoint: 'https://api.anthropic.com',
    hosts: ['platform.claude.com:443'],
  },
  modelLevels: { fast: 'claude-haiku-4-5', standard: 'claude-sonnet-4-5', max: 'claude-opus-4-5' },
  repository: { folder: '.pi', keep: ['skills', 'prompts'], obeyed: ['.pi'] },
};
