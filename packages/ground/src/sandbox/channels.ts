import type { ChildProcess } from 'node:child_process';
import type { Duplex } from 'node:stream';
import type { SandboxSpec } from './contract.ts';

/** Our ends of the extra descriptors that were requested as pipes; null for each of the others. */
export function listChannels(spec: SandboxSpec, child: ChildProcess): (Duplex | null)[] {
  return (spec.extraFds ?? []).map((each, index) =>
    each === 'pipe' ? (child.stdio[3 + index] as Duplex) : null,
  );
}
