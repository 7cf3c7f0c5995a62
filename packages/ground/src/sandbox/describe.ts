import type { SandboxDescription, SandboxSpec } from './contract.ts';
import { SANDBOX_UID } from './bwrap-arguments.ts';

/** What the kernel will enforce for this spec: facts for a run's record. */
export function describeSandbox(spec: SandboxSpec): SandboxDescription {
  const cgroup = spec.cgroupPaths.length > 0;
  if (spec.kind === 'none') {
    return {
      kind: 'none',
      namespaces: [],
      seccomp: false,
      capabilities: 'inherited',
      noNewPrivileges: false,
      cgroup,
      uid: process.geteuid?.() ?? -1,
      network: 'host',
      workspace: spec.workspace === null ? 'absent' : 'writable',
    };
  }
  return {
    kind: 'bwrap',
    namespaces: ['user', 'pid', 'mount', 'ipc', 'uts', 'cgroup', ...(spec.network === 'none' ? ['net'] : [])],
    seccomp: spec.seccomp,
    capabilities: 'none',
    noNewPrivileges: true,
    cgroup,
    uid: spec.uid ?? SANDBOX_UID,
    network: spec.network,
    workspace: spec.workspace === null ? 'absent' : spec.workspace.readOnly ? 'read-only' : 'writable',
  };
}
