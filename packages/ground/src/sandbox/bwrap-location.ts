import { isExecutable } from '../platform/index.ts';

/** Only folders that an agent cannot write to: bubblewrap is the boundary, so it is never looked up in PATH. */
const PLACES = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap', '/run/current-system/sw/bin/bwrap'];

/** Where bubblewrap is installed, or `null`. */
export function findBwrap(): string | null {
  return PLACES.find(isExecutable) ?? null;
}
