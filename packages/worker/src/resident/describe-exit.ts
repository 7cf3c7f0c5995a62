import { constants } from 'node:os';
import type { SandboxExit } from '@caisson/ground';
import type { ResidentEnding } from '@caisson/protocol';

const SIGNAL_BASE = 128;

/** Why a guest that nobody ended is gone. */
export function describeExit(
  { code, signal }: SandboxExit,
  oomKills: number,
): Pick<ResidentEnding, 'why' | 'detail'> {
  if (oomKills > 0) return { why: 'memory', detail: 'it used more memory than its sandbox may have' };
  const number = code !== null && code > SIGNAL_BASE ? code - SIGNAL_BASE : 0;
  const name =
    signal ??
    Object.entries(constants.signals).find(([, each]) => each === number)?.[0] ??
    `signal ${number}`;
  return signal !== null || number > 0
    ? { why: 'signal', detail: `it was ended by ${name}` }
    : { why: 'exited', detail: `it exited with code ${code ?? 0}` };
}
