// Limits by the kernel's control groups.
//
// Promises:
// C1  Only groups below our own folder (`caisson/` beside other groups) are made, changed, killed or removed.
// C2  `enforced` is what the kernel accepted, nothing else: a refused limit is `false`, with `why`.
// C3  Leaving the group we were started in never lifts its memory or process limit.

export interface CgroupLimits {
  /** Bytes. */
  readonly memory?: number | undefined;
  readonly cpus?: number | undefined;
  readonly pids?: number | undefined;
}

export interface CgroupRequest {
  /** `<runId>.<attempt>` */
  readonly name: string;
  readonly limits: CgroupLimits;
  /** The folder of our groups in each hierarchy; default `caisson`. */
  readonly parentHint?: string | undefined;
}

export interface CgroupEvents {
  readonly oomKills: number;
  /** How often a fork was refused. */
  readonly pidsMax: number;
}

export interface Cgroup {
  readonly kind: 'v1' | 'v2' | 'none';
  /** A process that joins all of these is in the group; empty when there is no group. */
  readonly procsFiles: readonly string[];
  readonly enforced: { readonly memory: boolean; readonly cpus: boolean; readonly pids: boolean };
  /** Why something is not enforced. */
  readonly why?: string | undefined;
  /** Readable until `remove`. */
  events(): CgroupEvents;
  /** Kills everything in the group; resolves when it is empty. */
  kill(): Promise<void>;
  pids(): number[];
  /** Removes the group. Its processes are killed first. */
  remove(): Promise<void>;
}

/** For the doctor. */
export interface CgroupProbe {
  readonly kind: 'v1' | 'v2' | 'none';
  /** What this machine has, usable for us or not. */
  readonly mounted: 'v1' | 'v2' | 'none';
  readonly memory: boolean;
  readonly cpus: boolean;
  readonly pids: boolean;
  readonly swap: boolean;
  readonly why?: string | undefined;
}

export type Controller = 'memory' | 'cpu' | 'pids' | 'freezer';
