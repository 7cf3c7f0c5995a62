import { listProcSwitches } from './hidden-paths.ts';
import { highestInheritedFd } from './inherited-fds.ts';
import { launchHelper } from './launch-helper.ts';
import { buildSeccompProgram } from './seccomp.ts';
import { prepareSystemView } from './system-view.ts';

/**
 * Does what every launch needs and no launch changes, in a process that has nothing else to do yet. Called again, it does
 * only what is missing or too old by then. `isViewListed`: another process lists
 * the view of the system for this launch, and this one need not.
 */
export function prepareLaunch({ isViewListed = false }: { readonly isViewListed?: boolean } = {}): void {
  try {
    launchHelper();
    highestInheritedFd();
    buildSeccompProgram();
    if (!isViewListed) prepareSystemView();
    listProcSwitches();
  } catch (error) {
    if (!(error instanceof Error)) throw error; // the launch reports a failure
  }
}
