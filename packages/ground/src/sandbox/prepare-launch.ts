import { listProcSwitches } from './hidden-paths.ts';
import { highestInheritedFd } from './inherited-fds.ts';
import { launchHelper } from './launch-helper.ts';
import { buildSeccompProgram } from './seccomp.ts';
import { prepareSystemView } from './system-view.ts';

/**
 * Does what every launch needs and no launch changes, in a process that has nothing else to do yet. Called again, it does
 * only what is missing or too old by then. `viewComes`: another process lists the view of the system for this launch.
 */
export function prepareLaunch({ viewComes = false }: { readonly viewComes?: boolean } = {}): void {
  try {
    launchHelper();
    highestInheritedFd();
    buildSeccompProgram();
    if (!viewComes) prepareSystemView();
    listProcSwitches();
  } catch (error) {
    if (!(error instanceof Error)) throw error; // the launch reports a failure
  }
}
