/** What the files declare, as this room needs it. */
import type { ResidentModule } from '@caisson/protocol';
import type { WindowLimit } from './sliding-window.ts';

/** What the user's code may use. */
export interface ResidentGrant {
  /** Absolute folders beside the project. */
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly hosts: readonly string[];
  readonly limits: {
    readonly memory: number;
    readonly pids: number;
    readonly disk: number;
    readonly cpus?: number | undefined;
  };
  /** Limits that a user set: a start is refused where one of them cannot be enforced. Default: `cpus`, if it is there. */
  readonly chosenLimits?: readonly ('memory' | 'pids' | 'disk' | 'cpus')[];
  /** This many crashes within the window block it. Default: those of the runtime. */
  readonly crashes?: WindowLimit;
}

/** What a key serves and may do. Two plans with the same digest are the same. */
export interface ResidentPlan {
  readonly key: string;
  readonly kind: 'senses' | 'workflow';
  readonly modules: readonly ResidentModule[];
  readonly grant: ResidentGrant;
  /** Folders that some resident of the project may write to: no code is loaded from them. */
  readonly writable: readonly string[];
  /** Of all above and of the content of the files that they are made of. */
  readonly digest: string;
}

/** What starts a compute beside its interval. */
export type SenseTrigger =
  | { readonly kind: 'signal'; readonly name: string }
  /** A pattern of paths, relative to the project. */
  | { readonly kind: 'files'; readonly pattern: string }
  | { readonly kind: 'runs'; readonly statuses: readonly string[] };

/** A sense as it was configured, with every default. */
export interface SenseSettings {
  readonly name: string;
  /** Absolute. */
  readonly file: string;
  readonly group: string;
  readonly intervalMs?: number | undefined;
  readonly on: readonly SenseTrigger[];
  /** 0: none. */
  readonly throttleMs: number;
  /** Whether its signals may lead to themselves. Default false. */
  readonly allowLoop?: boolean;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly grant: ResidentGrant;
}

/** A workflow as it was configured: what its worker and its view need. */
export interface WorkflowSettings {
  readonly name: string;
  /** Absolute. */
  readonly file: string;
  /** Names of signals. */
  readonly on: readonly string[];
  readonly concurrency: number;
  readonly overflow: string;
  readonly grant: ResidentGrant;
}

/** All residents of a project. */
export interface ResidentSettings {
  readonly senses: readonly SenseSettings[];
  readonly workflows: readonly WorkflowSettings[];
}
