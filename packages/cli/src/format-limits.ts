import type { Limits } from '@caisson/protocol';

/** Limits that this machine could not enforce, as `run` says it once and `show` afterwards; null if there are none. */
export function describeUnenforced(
  { memory, cpus, pids }: Limits,
  enforced: Readonly<Record<string, unknown>>,
): string | null {
  if (enforced['cgroup'] !== false) return null;
  const unenforced = Object.entries({ memory, cpus, pids }).flatMap(([name, limit]) =>
    limit === undefined ? [] : [name],
  );
  return unenforced.length === 0
    ? null
    : `limits: ${unenforced.join(', ')} not enforced here (why, and what helps: caisson doctor)`;
}
