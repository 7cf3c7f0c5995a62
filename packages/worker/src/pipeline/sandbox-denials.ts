/**
 * What the sandbox stopped, as far as it is visible from outside. The kernel answers only the program; but a program
 * that the filter ended has a characteristic exit, and most programs print the kernel's message on stderr. These
 * messages come from the program, so they are quoted, and only answers of a sandbox count.
 */
import { deny, type AttemptContext } from '../attempt/index.ts';

const SIGSYS_EXIT = 128 + 31;
const REFUSED_WRITE = /^.*(?:Read-only file system|EROFS: read-only file system).*$/gm;
const MAX_NAMED = 8;
const MAX_CHARACTERS = 300;

/** `stderr` is already redacted. */
export function reportSandboxDenials(
  context: AttemptContext,
  exit: { readonly code: number | null; readonly signal: string | null },
  stderr: string,
): void {
  if (context.job.grant.sandbox === 'none') return;
  if (exit.code === SIGSYS_EXIT || exit.signal === 'SIGSYS')
    deny(context, {
      layer: 'sandbox',
      what: 'the program ended like one that made system calls of another instruction set (32-bit or x32)',
      rule: 'seccomp',
    });
  const lines = new Set((stderr.match(REFUSED_WRITE) ?? []).map((line) => line.trim()));
  for (const line of [...lines].slice(0, MAX_NAMED))
    deny(context, {
      layer: 'sandbox',
      what: `the program reports a refused write: ${line.slice(0, MAX_CHARACTERS)}`,
      rule: 'read-only',
    });
}
