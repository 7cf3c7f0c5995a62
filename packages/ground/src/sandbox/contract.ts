// The sandbox around everything that is not our code: its options and its promises.
//
// Promises of every SandboxProcess:
// S1  Once `exited` has resolved, no process of the sandbox runs any more, whatever it forked or detached.
// S2  `exited` resolves although a process outside still keeps an end of stdout; the streams get a short, limited
//     drain.
// S3  Nothing is ever created on the user's disk for a mount, except empty mount points for the mailbox and the masks,
//     which are removed again.
// S4  A requested sandbox that cannot be built is an error, never a weaker sandbox.
// S5  Private files, frozen folders and masks are mounts: nothing inside can change, replace, rename or remove them,
//     nor a folder on the way to them.
// S6  What is written into a layer is in the layer's store alone, and nothing inside can reach the store itself.
import type { Duplex, Readable, Writable } from 'node:stream';

/** A folder or file of the host made visible inside. */
export interface SandboxBind {
  readonly source: string;
  readonly target: string;
  readonly writable: boolean;
  /** It must be a folder, without a link on the way to it, when the program starts: others may write beside it. */
  readonly isFolderAsNamed?: boolean | undefined;
}

/** A file that exists only inside, for example an agent's settings in its private HOME. */
export interface SandboxFile {
  readonly path: string;
  readonly content: string;
  readonly mode: number;
}

/**
 * A part of the workspace that is shown without its content: a folder, whether it exists or not, or a file that exists.
 */
export type SandboxMask =
  | {
      readonly kind: 'folder';
      readonly path: string;
      /** Files shown in it instead, by name. */
      readonly files: Readonly<Record<string, string>>;
      /** The part of its real content that stays visible, and writable, by path. Targets of links are left out. */
      readonly keep: readonly string[];
    }
  | { readonly kind: 'file'; readonly path: string; readonly content: string };

/**
 * Folders of the host that are visible with a private overlay on top: nothing that is written there reaches the host's
 * folder. Without a `store`, and where this machine cannot make such layers, they are read-only.
 */
export interface SandboxLayers {
  readonly folders: readonly { readonly source: string; readonly target: string }[];
  /** A private folder of the host for what is written; the next sandbox with it sees that again. */
  readonly store?: string | undefined;
}

/** A size-capped folder in memory. */
export interface SandboxScratch {
  readonly path: string;
  readonly maxBytes: number;
}

/** Everything about one start. Paths named `target`, `path` or `cwd` are as seen inside. */
export interface SandboxSpec {
  readonly kind: 'bwrap' | 'none';
  readonly argv: readonly string[];
  /** The whole environment inside; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The source folder appears at `target`, usually the repo's own absolute path. */
  readonly workspace: { readonly source: string; readonly target: string; readonly readOnly: boolean } | null;
  /** Always writable, also when the workspace is not. */
  readonly mailbox?: { readonly source: string; readonly target: string } | undefined;
  readonly binds: readonly SandboxBind[];
  readonly layers?: SandboxLayers | undefined;
  /** Folders replaced by empty ones, on top of the built-in list. */
  readonly hide: readonly string[];
  /** Control files and folders inside the workspace; those that do not exist are left out. */
  readonly readOnlyPaths: readonly string[];
  /** Read-only as well, but the folders around them may be moved: for files that are checked again afterwards. */
  readonly looseReadOnlyPaths?: readonly string[] | undefined;
  /** Files and folders inside the workspace whose content is not shown; those that do not exist are left out. */
  readonly hiddenPaths?: readonly string[] | undefined;
  /** Read-only, and only with what the mask names. */
  readonly masks?: readonly SandboxMask[] | undefined;
  /**
   * Folders in memory with mounts and private files in them, read-only once everything is there; under a replaced
   * folder.
   */
  readonly frozen?: readonly string[] | undefined;
  /** Must be under a replaced folder (/home, /root, /tmp, /run …) or exist on the host. */
  readonly home: SandboxScratch;
  readonly tmp: SandboxScratch;
  /** Placed in HOME or another folder in memory, never on the disk; read-only and pinned (S5). */
  readonly files: readonly SandboxFile[];
  readonly network: 'none' | 'host';
  /** Ids shown inside; default 1000. Outside, files belong to the user who started the sandbox. */
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  readonly seccomp: boolean;
  /** `cgroup.procs` files that the sandbox joins before anything of it runs. */
  readonly cgroupPaths: readonly string[];
  /** Files of our own programs that serve those inside; a SIGTERM for all skips them. */
  readonly ownPrograms?: readonly string[] | undefined;
  readonly stdin: 'closed' | 'pipe';
  /** Stdout is a nameless file in this folder of the host instead of a pipe (output-file.ts). */
  readonly stdoutFolder?: string | undefined;
  /** Descriptors 3, 4, … inside: one of ours, or a new duplex channel that appears in `channels`. */
  readonly extraFds?: readonly (number | 'pipe')[] | undefined;
}

/** How the sandbox ended. */
export interface SandboxExit {
  /** Exit code of the program; a program that died of signal N inside bubblewrap shows 128 + N. */
  readonly code: number | null;
  /** The signal that ended bubblewrap (or the plain process) itself. */
  readonly signal: NodeJS.Signals | null;
}

/** A running sandbox. */
export interface SandboxProcess {
  /** bubblewrap itself, or the plain process. */
  readonly pid: number;
  readonly startTime: string;
  /** The first process of the new PID namespace; it ignores SIGTERM. */
  readonly initPid: number | null;
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** One entry for each of `extraFds`; `null` if an own descriptor was passed. */
  readonly channels: readonly (Duplex | null)[];
  /** Whether its inotify instances and watches are limited. */
  readonly limitsInotify: boolean;
  /** Targets of `layers` that are read-only in it. */
  readonly readOnlyLayers: readonly string[];
  /** The program itself as the host sees it, or `null` before it runs and after it ended. */
  agentPid(): number | null;
  /**
   * Asks it to stop; `false` when the program does not exist. SIGINT reaches the program and its process group, as a
   * terminal's Ctrl-C does. SIGTERM reaches everything inside, and from then on the end of the program does not end the
   * others: `exited` waits until none is left, or for `kill`.
   */
  signalAgent(signal: 'SIGINT' | 'SIGTERM'): boolean;
  /** Ends everything inside at once. Idempotent; wait for `exited` to know that it is gone. */
  kill(): void;
  /** Resolves once nothing of the sandbox runs any more (S1, S2); never rejects. */
  readonly exited: Promise<SandboxExit>;
}

export interface LaunchOptions {
  /** Kills the sandbox when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Where bubblewrap is, when it is not in a system folder. */
  readonly bwrapPath?: string | undefined;
}

/** What the sandbox really enforces, for the record of a run. */
export interface SandboxDescription {
  readonly kind: 'bwrap' | 'none';
  readonly namespaces: readonly string[];
  readonly seccomp: boolean;
  readonly capabilities: 'none' | 'inherited';
  readonly noNewPrivileges: boolean;
  readonly cgroup: boolean;
  readonly uid: number;
  readonly network: 'none' | 'host';
  readonly workspace: 'read-only' | 'writable' | 'absent';
}

/** Every process of an attempt has it in its environment, so that it can be found without a namespace. */
export const MARKER_NAME = 'CAISSON_MARKER';
