import { hook, type RuntimeDescriptor } from '../runtimes.ts';

export const OPENCODE: RuntimeDescriptor<'opencode'> = {
  name: 'opencode',
  title: 'opencode',
  npmPackage: 'opencode-ai',
  bins: ['opencode'],
  versionArgs: ['--version'],
  testedRange: { from: '1.17.0', to: '1.18.33' },
  api: 'openai-chat',
  keyEnv: 'OPENAI_API_KEY',
  defaultEndpoint: 'https://api.openai.com/v1',
  baseUrlEnv: 'OPENAI_BASE_URL',
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
  tools: {
    read: 'read list glob grep lsp codesearch',
    write: 'write edit multiedit',
    shell: 'bash',
    patch: 'patch apply_patch',
    network: 'webfetch websearch',
    dispatch: 'task',
    // It runs `invalid` in place of a call that it could not read, to report that to the model.
    quiet: 'todowrite todoread question skill invalid',
  },
  loginFiles: [], // its data folder is ours, so it would not find a mounted log-in
  modelLevels: {
    fast: 'anthropic/claude-haiku-4-5',
    standard: 'anthropic/claude-sonnet-4-5',
    max: 'anthropic/claude-opus-4-5',
  },
  acpPrograms: { opencode: ['acp'] },
  repository: {
    folder: '.opencode',
    keep: ['skills', 'skill', 'commands', 'command'],
    // It claims to skip them, and yet loads the plugins that they name.
    files: ['opencode.json', 'opencode.jsonc'],
    obeyed: ['.opencode', 'opencode.json', 'opencode.jsonc'],
    merged: ['opencode.json', '.opencode/opencode.json'],
    skills: '.opencode/skills',
    servers: {
      files: ['opencode.json', 'opencode.jsonc', '.opencode/opencode.json', '.opencode/opencode.jsonc'],
      member: 'mcp',
      shape: 'local',
    },
  },
};
