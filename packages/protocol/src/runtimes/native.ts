import { hook, type RuntimeDescriptor } from '../runtimes.ts';

export const NATIVE: RuntimeDescriptor<'native'> = {
  name: 'native',
  title: 'Native agent',
  bins: [],
  versionArgs: [],
  api: 'anthropic-messages',
  keyEnv: 'ANTHROPIC_API_KEY',
  otherKeyEnv: [],
  defaultEndpoint: 'https://api.anthropic.com',
  baseUrlEnv: 'ANTHROPIC_BASE_URL',
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
  tools: {
    read: 'read grep find ls',
    write: 'write edit',
    shell: 'bash',
  },
  loginFiles: [],
  modelLevels: { fast: 'claude-haiku-4-5', standard: 'claude-sonnet-4-5', max: 'claude-opus-4-5' },
};
