import { permissionRequest, type RuntimeDescriptor } from '../runtimes.ts';

export const ACP: RuntimeDescriptor<'acp'> = {
  name: 'acp',
  title: 'Any ACP agent',
  bins: [],
  versionArgs: ['--version'],
  api: 'none',
  modes: {
    suggest: permissionRequest('session/request_permission; our workspace is read-only'),
    'auto-edit': permissionRequest('session/request_permission'),
    'full-auto': permissionRequest('session/request_permission'),
  },
  promptVia: 'acp',
  canResume: true,
  canInject: false,
  reportsCost: false,
  reportsUsage: true,
  sampling: [],
  tools: {},
  loginFiles: [],
};
