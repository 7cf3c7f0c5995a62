import { existsSync, readFileSync } from 'node:fs';
import { probeCgroups, probeSandbox } from '@caisson/ground';
import type { Probe } from './contract.ts';

const APPARMOR_SWITCH = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns';

/** Does not read settings: a small sandbox is really started. */
export const userNamespacesProbe: Probe = {
  id: 'user-namespaces',
  async run() {
    const probe = await probeSandbox();
    if (probe.ok) return { verdict: 'ok', detail: 'a sandbox with all namespaces starts' };
    return { verdict: 'fail', detail: probe.reason, remedy: probe.remedy };
  },
};

export const apparmorProbe: Probe = {
  id: 'apparmor',
  async run() {
    const isRestricted = existsSync(APPARMOR_SWITCH) && readFileSync(APPARMOR_SWITCH, 'utf8').trim() === '1';
    if (!isRestricted) return { verdict: 'ok', detail: 'no rule against unprivileged user namespaces' };
    const detail = 'unprivileged user namespaces are restricted';
    const hasProfile = ['bwrap', 'bwrap-userns-restrict'].some((name) =>
      existsSync(`/etc/apparmor.d/${name}`),
    );
    if (hasProfile) return { verdict: 'ok', detail: `${detail}; bwrap has a profile` };
    return {
      verdict: 'warn',
      detail,
      remedy:
        'Give bwrap an AppArmor profile with the userns rule (package apparmor-profiles), or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
    };
  },
};

/** Tried with a real group that is removed again. */
export const cgroupsProbe: Probe = {
  id: 'cgroups',
  async run() {
    const { kind, mounted, memory, cpus, pids, swap, why } = await probeCgroups();
    const enforced = Object.entries({ memory, cpus, pids, swap }).flatMap(([name, holds]) =>
      holds ? [name] : [],
    );
    const missing = Object.entries({ memory, cpus, pids }).flatMap(([name, holds]) => (holds ? [] : [name]));
    const detail =
      kind === 'none' ? (why ?? 'no cgroup can be made') : `${kind}: ${enforced.join(', ')} enforced`;
    if (missing.length === 0) return { verdict: 'ok', detail };
    return {
      verdict: 'warn',
      detail: `${detail}; no limit on ${missing.join(', ')}`,
      remedy: CGROUP_REMEDIES[mounted],
    };
  },
};

/** v1 has no delegation by systemd: root must make folders and give them to the user. */
const CGROUP_REMEDIES = {
  v1: 'Start Caisson as root, or let root prepare this once per boot: for c in freezer memory pids cpu; do mkdir -p /sys/fs/cgroup/$c/caisson && chown USER /sys/fs/cgroup/$c/caisson; done',
  v2: 'Start Caisson as root, or in a delegated scope: systemd-run --user --scope -p Delegate=yes caisson …',
  none: 'Mount the cgroup file system, or run without limits on memory, cpus and processes.',
} as const;
