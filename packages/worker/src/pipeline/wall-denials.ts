/**
 * What the wall stopped, as far as that can be seen from outside. The kernel tells the program alone; but a program that
 * the filter ended has a telling exit, and most programs pass the kernel's words on to their stderr. These are the
 * program's word, so they are quoted as such, and only what a sandbox answers in them counts.
 */
import { deny, type AttemptContext } from '../attempt/index.ts';

const SIGSYS_EXIT = 128 + 31;
const REFUSED_WRITE = /^.*(?:Read-only file system|EROFS: read-only file system).*$/gm;
const MAX_TOLD = 8;
const MAX_CHARACTERS = 300;

/** `stderr` is redacted already. */
export function tellWallDenials(
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
  for (const line of [...lines].slice(0, MAX_TOLD))
    deny(context, {
      layer: 'sandbox',
      what: `a write was refused, says the program: ${line.slice(0, MAX_CHARACTERS)}`,
      rule: 'read-only',
    });
}
