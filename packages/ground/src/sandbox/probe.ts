import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { readProcFile } from '../processes/index.ts';
import { findBwrap } from './bwrap-location.ts';
import { diagnose } from './diagnose.ts';
import { bwrapMissing } from './spawn-bwrap.ts';

/** Whether the sandbox can be built on this machine. */
export type SandboxProbe =
  | { readonly ok: true; readonly bwrapPath: string }
  | { readonly ok: false; readonly reason: string; readonly remedy: string };

const PROBE_LIMIT_MS = 5000;

/** The flags that a kernel or a distribution may refuse, around a program that does nothing. */
const PROBE_WORDS = [
  '--unshare-user',
  '--disable-userns',
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-net',
  '--die-with-parent',
  '--ro-bind',
  '/',
  '/',
  '--proc',
  '/proc',
  '--',
  '/bin/sh',
  '-c',
  ':',
];

const probes = new Map<string, Promise<SandboxProbe>>();

/** Builds a small sandbox once (some 5 ms) and remembers the outcome. */
export function probeSandbox(bwrapPath: string | null = findBwrap()): Promise<SandboxProbe> {
  const known = probes.get(bwrapPath ?? '');
  if (known !== undefined) return known;
  const probe = bwrapPath === null ? Promise.resolve(missing()) : tryOut(bwrapPath);
  probes.set(bwrapPath ?? '', probe);
  return probe;
}

/** What the outcome of a probe depends on: this start of the kernel, its settings, our user, and the program. */
const SWITCHES = [
  '/proc/sys/kernel/random/boot_id',
  '/proc/sys/user/max_user_namespaces',
  '/proc/sys/kernel/unprivileged_userns_clone',
  '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
];

/**
 * Identifies everything that can change whether the sandbox can be built: a successful probe stays valid as long as
 * this text stays the same. `null` without bubblewrap.
 */
export function describeProbeBasis(bwrapPath: string | null = findBwrap()): string | null {
  if (bwrapPath === null) return null;
  const program = statSync(bwrapPath, { throwIfNoEntry: false });
  if (program === undefined) return null;
  const switches = SWITCHES.map((path) => readProcFile(path)?.trim() ?? '-');
  const file = [bwrapPath, program.ino, program.size, program.mtimeMs, program.mode];
  return [...file, process.getuid?.() ?? '-', ...switches].join(' ');
}

function missing(): SandboxProbe {
  const error = bwrapMissing();
  return { ok: false, reason: 'bubblewrap (bwrap) is not installed', remedy: error.remedy ?? '' };
}

function tryOut(bwrapPath: string): Promise<SandboxProbe> {
  return new Promise((resolve) => {
    execFile(
      bwrapPath,
      PROBE_WORDS,
      { env: {}, timeout: PROBE_LIMIT_MS, killSignal: 'SIGKILL' },
      (error, _stdout, stderr) => {
        if (error === null) return resolve({ ok: true, bwrapPath });
        if (error.code === 'ENOENT') return resolve(missing());
        const words = stderr.trim() || error.message;
        resolve({
          ok: false,
          ...(diagnose(words) ?? {
            reason: `bubblewrap failed (${words})`,
            remedy: 'Run `bwrap --ro-bind / / true` to see the fault.',
          }),
        });
      },
    );
  });
}
