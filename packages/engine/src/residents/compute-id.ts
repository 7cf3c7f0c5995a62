import { createHash } from 'node:crypto';
import type { Clock } from '@caisson/ground';
import type { ComputeCause } from '@caisson/protocol';
import { createPrefixedId } from '../platform/index.ts';

/** The same for the same cause, where a cause has an id: what a dead daemon left is then not computed twice. */
export function chooseComputeId(clock: Clock, sense: string, cause: ComputeCause): string {
  return findComputeId(sense, cause) ?? createPrefixedId('compute', clock);
}

/** Null for a cause without an id, which no later host repeats. */
export function findComputeId(sense: string, cause: ComputeCause): string | null {
  if (cause.kind === 'signal') return digestId('compute', [cause.signalId, sense]);
  if (cause.kind === 'run') return digestId('compute', [cause.runId, cause.status, sense]);
  return null;
}

/** The id of the signal that a compute emitted at this place. */
export function chooseSignalId(sense: string, computeId: string, index: number): string {
  return digestId('signal', [computeId, sense, index]);
}

function digestId(prefix: string, parts: readonly (string | number)[]): string {
  return `${prefix}_${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 20)}`;
}
