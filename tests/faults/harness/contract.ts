/**
 * The words of the fault harness.
 *   kind → plan(random) → case → stage: project, command, fault, the next command, invariants
 * A case is decided by seed, kind and index alone. How the machine times it is not: a case is repeated, not replayed.
 */
import type { Ledger } from '../../../packages/engine/src/ledger/index.ts';
import type { CliRun, Project } from '../../e2e/open-project.ts';
import type { Phase } from './phases.ts';

/** The outcome of a case, by the newest run of its project. */
export type Outcome = 'done' | 'failed' | 'interrupted' | 'refused';

export interface Findings {
  readonly outcome: Outcome;
  /** Faults that met what they were meant for, and those that met nothing. */
  readonly struck: number;
  readonly missed: number;
  /** Broken invariants, each with its name first. */
  readonly violations: readonly string[];
  /** What the product said in such a case. */
  readonly context?: readonly string[];
}

export interface PlannedCase {
  /** Says in one line what is done to what and when. */
  readonly name: string;
  run(): Promise<Findings>;
}

export interface Kind {
  readonly name: string;
  readonly summary: string;
  /** Whether it takes part when no kind is named. */
  readonly isUsual: boolean;
  /** Why it cannot be tried on this machine, or null. */
  findObstacle(): string | null;
  /** For a kind of which one case is many runs: how many cases `--count` means. */
  countCases?(count: number): number;
  /** `count` is that of the option, for a kind that counts runs. */
  plan(random: Random, index: number, count: number): PlannedCase;
}

/** Between 0 and 1, the same sequence for the same seed. */
export type Random = () => number;

/** What the agent does and where. */
export interface Setting {
  readonly workspace: 'worktree' | 'in-place';
  readonly agent: 'writes' | 'commits' | 'fails' | 'nothing';
  /** Where the state folder is: in the project, or on a file system of its own. */
  readonly state: 'inside' | 'tmpfs';
  /** What holds everything: the machine's disk, or an own ext4 in a loop device. */
  readonly disk: 'plain' | 'ext4' | 'fuse';
  readonly retries: number;
  /** How many `caisson run` there are at once. */
  readonly runs: number;
  /** Whether the agent goes on until it is ended. */
  readonly isEndless: boolean;
  readonly hasNetwork: boolean;
  /** Whether the user has files that are not committed: the runs begin with a baseline of their own. */
  readonly isDirty: boolean;
}

/** A command line that a fault may put something before. */
export interface Command {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
}

export interface Running {
  /** The process of `caisson run`, which is the host. */
  readonly pid: number;
  readonly ended: Promise<CliRun>;
  isOver(): boolean;
}

export interface Stage {
  readonly project: Project;
  readonly base: string;
  readonly setting: Setting;
  readonly stateDir: string;
  /** Repository that keeps the checkpoints. */
  readonly custody: string;
  readonly disk: Disk | null;
  /** What the processes of this case are known by: its folder, its runs, its hosts. */
  readonly marks: Set<string>;
  /** What was seen while the command ran. */
  readonly seen: Seen;
  /** Opened on first use, so that nothing of ours is in the way of a disk that is taken away. */
  ledger(): Ledger;
  closeLedger(): Promise<void>;
  /** Ends every process of the case, and resolves when they are gone. */
  endProcesses(): Promise<void>;
  start(command: Command): Running;
  /** Runs the built CLI to its end. */
  caisson(name: string, ...args: string[]): Promise<CliRun>;
  /** The same for a command that only reads, without a process of its own. */
  read(name: string, ...args: string[]): Promise<CliRun>;
  close(): Promise<void>;
}

export interface Seen {
  /** Whether a file of the agent with content was in the workspace. */
  hasWork: boolean;
  /** Newest durable event that was read: position and hash. It may never be missing afterwards. */
  head: { readonly offset: number; readonly hash: string } | null;
}

/** A file system that belongs to one case. */
export interface Disk {
  readonly path: string;
  /** Puts everything that was written onto the medium. */
  sync?(): void;
  /** Everything unsynced is lost, as when the power fails. The disk cannot be used until `renew`. */
  cutPower?(): void;
  turnReadOnly?(): void;
  /** Every open handle becomes stale. */
  goStale?(): void;
  /** Mounts it again as it is on its medium. No process may use it. */
  renew(): void;
  remove(): void;
}

/** One thing that goes wrong. Made for one case, so that it may remember. */
export interface Fault {
  readonly name: string;
  /** What it needs of the stage. */
  readonly needs?: Partial<Setting>;
  /** When it happens, for faults that wait for a moment. */
  readonly phase?: Phase;
  /** Changes how the command is started. */
  wrap?(command: Command, stage: Stage): Command;
  /** Runs beside the command. False when there was no target. */
  strike?(stage: Stage, running: readonly Running[]): Promise<boolean>;
  /** For those that only know afterwards. */
  hasStruck?(): boolean;
  /** Takes the cause away before the next command. */
  lift?(stage: Stage): Promise<void> | void;
  /** Whether work that was written and not yet saved may be gone. */
  readonly losesUnsynced?: boolean;
  /** Whether the command cannot be expected to end by itself. */
  readonly blocksCommand?: boolean;
}

/** What happens in a case: faults beside the run, and faults beside the command that recovers. */
export interface Scenario {
  readonly setting: Setting;
  readonly faults: readonly Fault[];
  readonly recoveryFaults?: readonly Fault[];
}
