/** Invariant 5: a limit that a person set and that cannot be enforced is refused; a default is recorded as unenforced. */
import type { Limits } from '@caisson/protocol';
import type { Candidate } from './contract.ts';
import type { DispatchSettings } from './rooms.ts';

const GROUP_LIMITS = ['memory', 'cpus', 'pids'] as const;

/** What the kernel enforces here for a group of processes. */
export interface EnforcedLimits {
  readonly enforced: Readonly<Record<(typeof GROUP_LIMITS)[number], boolean>>;
  /** Why not all of them, if so. */
  readonly why?: string | undefined;
}

/** Limits of the grant that nothing enforces here. */
export function listUnenforced(
  limits: Limits,
  { enforced }: EnforcedLimits,
): (typeof GROUP_LIMITS)[number][] {
  return GROUP_LIMITS.filter((key) => limits[key] !== undefined && !enforced[key]);
}

/** Why a run cannot start with its limits; null if it can. */
export function findUnenforcedLimit(
  { chosenLimits }: Pick<DispatchSettings, 'chosenLimits'>,
  { agent, request, grant }: Pick<Candidate, 'agent' | 'request' | 'grant'>,
  here: EnforcedLimits,
): string | null {
  const asked = Object.keys({ ...agent?.definition.grant?.limits, ...request.limits });
  const chosen = new Set<string>([...chosenLimits, ...asked]);
  const unenforced = listUnenforced(grant.limits, here).filter((key) => chosen.has(key));
  return unenforced.length === 0
    ? null
    : `the limit ${unenforced.join(', ')} was set and cannot be enforced here: ${here.why ?? 'no cgroup'}. Remove it, or see caisson doctor.`;
}
