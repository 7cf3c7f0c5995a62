import { sandboxOnly, type RuntimeDescriptor } from '../runtimes.ts';

export const COMMAND: RuntimeDescriptor<'command'> = {
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
  tools: {},
  loginFiles: [],
};
