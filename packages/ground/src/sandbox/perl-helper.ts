// A Perl program that does what only a process inside the namespaces of a sandbox can do. It starts beside bubblewrap
// and gets its input while the program waits at the start gate. Node cannot enter namespaces itself.
import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { isExecutable } from '../platform/index.ts';
import { MINIMAL_COMMAND_ENV } from '../processes/index.ts';

export const CLONE_NEWUSER = 0x10000000;

/** Numbers of system calls, by architecture. */
export const SYSCALLS: Readonly<
  Partial<Record<string, { readonly setns: number; readonly mount: number; readonly umount2: number }>>
> = {
  x64: { setns: 308, mount: 165, umount2: 166 },
  arm64: { setns: 268, mount: 40, umount2: 39 },
  riscv64: { setns: 268, mount: 40, umount2: 39 },
};

export interface PerlHelper {
  /** Gives it its input. Resolves with its exit code, or with `null` if it was killed or could not be started. */
  run(input: string): Promise<number | null>;
  /** For a launch that failed. Idempotent. */
  cancel(): void;
}

/** Starts the program; `null` without a Perl. */
export function startPerl(program: string, args: readonly (string | number)[]): PerlHelper | null {
  const perl = findPerl();
  if (perl === null) return null;
  const child = spawn(perl, ['-e', program, ...args.map(String)], {
    env: { ...MINIMAL_COMMAND_ENV },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code));
    child.once('error', () => resolve(null));
  });
  child.stdin.on('error', () => undefined); // it ended before it got its input
  child.unref();
  (child.stdin as Socket).unref();
  return {
    run: (input) => {
      child.ref();
      child.stdin.end(input);
      return ended;
    },
    cancel: () => void child.stdin.destroy(),
  };
}

let perlPath: string | null | undefined;

function findPerl(): string | null {
  perlPath ??= ['/usr/bin/perl', '/bin/perl', '/usr/local/bin/perl'].find(isExecutable) ?? null;
  return perlPath;
}
