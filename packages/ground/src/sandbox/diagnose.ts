// bubblewrap reports what failed; this explains why, and what a person can do about it.
import { readProcFile } from '../processes/index.ts';

export interface Diagnosis {
  readonly reason: string;
  readonly remedy: string;
}

const OR_NONE = 'or ask for no sandbox by name with `--sandbox none`';

/** Explains bubblewrap's message if the cause is in the machine; `null` for faults of a single start. */
export function diagnose(words: string): Diagnosis | null {
  if (/unknown option/i.test(words)) {
    return {
      reason: `this bubblewrap is too old (${firstLine(words)})`,
      remedy: `Install bubblewrap 0.8.0 or newer, ${OR_NONE}.`,
    };
  }
  if (
    !/creating new namespace|no permissions to creat|setting up uid map|unshare|user namespace/i.test(words)
  )
    return null;
  return {
    reason: `user namespaces are not available (${firstLine(words)})`,
    remedy: `${findRemedy()}, ${OR_NONE}.`,
  };
}

function findRemedy(): string {
  if (readSwitch('kernel/apparmor_restrict_unprivileged_userns') === '1') {
    return 'AppArmor stops programs without a profile from making user namespaces (Ubuntu 24.04 and newer): add a profile for bwrap that allows `userns`, or set kernel.apparmor_restrict_unprivileged_userns=0';
  }
  if (readSwitch('kernel/unprivileged_userns_clone') === '0')
    return 'Set kernel.unprivileged_userns_clone=1 with sysctl';
  if (readSwitch('user/max_user_namespaces') === '0')
    return 'Set user.max_user_namespaces to a number above 0 with sysctl';
  return 'Allow user namespaces on this machine (inside a container they need the right seccomp and AppArmor profile)';
}

function readSwitch(name: string): string | null {
  return readProcFile(`/proc/sys/${name}`)?.trim() ?? null;
}

function firstLine(words: string): string {
  return words.split('\n')[0] ?? '';
}
