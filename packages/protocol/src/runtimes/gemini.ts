import { hook, NO_ENVIRONMENT, type RuntimeDescriptor } from '../runtimes.ts';

export const GEMINI: RuntimeDescriptor<'gemini'> = {
  name: 'gemini',
  title: 'Gemini CLI',
  npmPackage: '@google/gemini-cli',
  bins: ['gemini'],
  versionArgs: ['--version'],
  testedRange: { from: '0.44.0', to: '0.61.0' },
  api: 'gemini',
  keyEnv: 'GEMINI_API_KEY',
  otherKeyEnv: ['GOOGLE_API_KEY'],
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
  login: {
    member: 'refresh_token',
    hosts: ['cloudcode-pa.googleapis.com:443', 'oauth2.googleapis.com:443', 'www.googleapis.com:443'],
  },
  modelLevels: { fast: 'gemini-2.5-flash-lite', standard: 'gemini-2.5-flash', max: 'gemini-2.5-pro' },
  acpPrograms: { gemini: ['--acp'] },
  repository: {
    folder: '.gemini',
    keep: ['GEMINI.md', 'skills', 'commands'],
    instead: NO_ENVIRONMENT,
    obeyed: ['.gemini/settings.json', '.gemini/extensions', '.gemini/.env'],
    merged: ['.gemini/settings.json'],
    skills: '.gemini/skills',
    servers: { files: ['.gemini/settings.json'], member: 'mcpServers', shape: 'stdio' },
  },
};
