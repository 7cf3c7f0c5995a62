import { existsSync, readFileSync } from 'node:fs';
import { runBounded } from '@caisson/ground';
import { findCgroups } from './find-cgroups.ts';
import type { Probe } from './contract.ts';
import { findProgram } from './find-program.ts';

const APPARMOR_SWITCH = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns';
const CLONE_SWITCH = '/proc/sys/kernel/unprivileged_userns_clone';
const COUNT_SWITCH = '/proc/sys/user/max_user_namespaces';

/** Not a look at switches: an empty sandbox is really started. */
export const userNamespacesProbe: Probe = {
  id: 'user-namespaces',
  async run(context) {
    const bwrap = findProgram('bwrap', context.env['PATH'], '/');
    if (bwrap === null)
      return {
        verdict: 'fail',
        detail: 'not tried: bubblewrap is missing',
        remedy: 'Install bubblewrap first.',
      };
    const walls = [
      '--unshare-user',
      '--unshare-all',
      '--die-with-parent',
      '--new-session',
      '--cap-drop',
      'ALL',
    ];
    const view = ['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev'];
    const result = await runBounded({
      file: bwrap,
      args: [...walls, ...view, '--', '/bin/true'],
      timeoutMs: 10_000,
      maxOutputBytes: 16 * 1024,
    });
    if (result.exitCode === 0) return { verdict: 'ok', detail: 'a sandbox with all namespaces starts' };
    const said = result.stderr.toString().trim().split('\n').at(-1) ?? '';
    return {
      verdict: 'fail',
      detail: `bwrap: ${said === '' ? `exit ${result.exitCode ?? result.signal}` : said}`,
      remedy: explainRefusal(),
    };
  },
};

export const apparmorProbe: Probe = {
  id: 'apparmor',
  async run() {
    const isRestricted = readSwitch(APPARMOR_SWITCH) === '1';
    if (!isRestricted) return { verdict: 'ok', detail: 'no rule against unprivileged user namespaces' };
    const hasProfile = ['bwrap', 'bwrap-userns-restrict'].some((name) =>
      existsSync(`/etc/apparmor.d/${name}`),
    );
    const detail = 'unprivileged user namespaces are restricted';
    if (hasProfile) return { verdict: 'ok', detail: `${detail}; bwrap has a profile` };
    return { verdict: 'warn', detail, remedy: apparmorRemedy() };
  },
};

export const cgroupsProbe: Probe = {
  id: 'cgroups',
  async run() {
    const found = findCgroups();
    if (found.version === null) {
      return {
        verdict: 'warn',
        detail: 'no cgroup file system is mounted',
        remedy: 'Mount cgroup v2; until then memory, cpu and process limits are not enforced.',
      };
    }
    const detail = `v${found.version}: ${found.writable.length === 0 ? 'none' : found.writable.join(', ')} writable`;
    const missing = ['memory', 'pids', 'cpu'].filter((name) => !found.writable.includes(name));
    if (missing.length === 0) return { verdict: 'ok', detail };
    return {
      verdict: 'warn',
      detail: `${detail}; without ${missing.join(', ')}`,
      remedy:
        'Start Caisson as root or in a delegated scope: systemd-run --user --scope -p Delegate=yes caisson …',
    };
  },
};

function explainRefusal(): string {
  if (readSwitch(APPARMOR_SWITCH) === '1') return apparmorRemedy();
  if (readSwitch(CLONE_SWITCH) === '0')
    return 'Allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1';
  if (readSwitch(COUNT_SWITCH) === '0')
    return 'Allow user namespaces: sysctl -w user.max_user_namespaces=15000';
  return 'In a container, start it so that namespaces are allowed (for docker: --security-opt seccomp=unconfined --security-opt apparmor=unconfined).';
}

function apparmorRemedy(): string {
  return 'Give bwrap an AppArmor profile with the userns rule (package apparmor-profiles), or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0';
}

/** Kernels differ in which switches they have; one that is not there restricts nothing. */
function readSwitch(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
}
