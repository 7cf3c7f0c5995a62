/**
 * A program beside each process that launches. It does what Node cannot: it makes pipes, enters the namespaces of a sandbox,
 * and outlives us by a moment to clean up after our kill.
 *
 * bubblewrap clones its first child, arms itself to die with us, and only then writes to the eventfd on which the child
 * waits. When we die in between, bubblewrap dies with us and the child, which has the eventfd itself, waits for ever.
 * Nothing of the sandbox has run in it, but it is a process. The child existed before bubblewrap was armed, so a search
 * after our death finds it by the mark of the attempt.
 *
 * One Perl does all of it (perl-helper.ts). Where there is none, a shell is the guard, `mkfifo` makes the pipes, and nothing
 * enters a namespace (shell-helper.ts).
 */
import type { LayerMounts } from './layer-mounts.ts';
import { startPerlHelper } from './perl-helper.ts';
import { once, startShellHelper } from './shell-helper.ts';

/** Descriptors of two pipes, for standard output and standard error. */
export interface PipeEnds {
  readonly readFds: readonly number[];
  readonly writeFds: readonly number[];
}

/** What was done in the namespaces of a sandbox. */
export interface Entered {
  readonly limitsInotify: boolean;
  readonly isMounted: boolean;
}

export interface LaunchHelper {
  /**
   * `mark` is `NAME=VALUE` in the environment of the launched program: what has it is killed once we are gone. Returns a
   * function to call once it needs no guard.
   */
  launching(mark: string): () => void;
  /** Two real pipes that have no name. The caller closes the descriptors. */
  makePipes(): Promise<PipeEnds>;
  /** Limits inotify and mounts the layers of the sandbox with this first process. */
  enter(initPid: number, mounts: LayerMounts | null): Promise<Entered>;
  /** `killed`: another one can take its place. `useless`: it ended before it made any pipe, and so would another one. */
  standing(): 'up' | 'killed' | 'useless';
}

let helper: LaunchHelper | undefined;
const openLaunches = new Set<{ readonly mark: string; end(): void }>();

/** The helper of this process, started with the first call. Another one if it was killed, which guards what that one did. */
export function launchHelper(): LaunchHelper {
  const standing = helper?.standing();
  if (helper !== undefined && standing === 'up') return helper;
  helper = (standing === 'useless' ? null : startPerlHelper()) ?? startShellHelper();
  for (const launch of openLaunches) launch.end = helper.launching(launch.mark);
  return helper;
}

/** As `launching` of the helper, also if that is replaced meanwhile. */
export function guardLaunch(mark: string): () => void {
  const launch = { mark, end: launchHelper().launching(mark) };
  openLaunches.add(launch);
  return once(() => {
    openLaunches.delete(launch);
    launch.end();
  });
}
