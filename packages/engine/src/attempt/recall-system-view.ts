/**
 * What of /etc and /var a sandbox shows is listed by a host that stays, once for all attempts that begin together: in a
 * worker that code never ran before, and takes twice as long. A host with one run leaves it to the worker, which has time.
 */
import { listSystemViewNow } from '@caisson/ground';
import type { Job } from '@caisson/protocol';
import type { AdmittedRun, DispatchRooms } from '../admission/index.ts';
import { createShortMemory } from '../platform/index.ts';

const recall = createShortMemory<Job['sandbox']['view']>();

/** Undefined where the worker lists it, or nothing is hidden. */
export function recallSystemView({ compute }: DispatchRooms, { grant }: AdmittedRun): Job['sandbox']['view'] {
  if (grant.sandbox === 'none' || !compute.spares.keepsNext) return undefined;
  return recall('', () => {
    const { listedAtMs, roots, folders, files, links } = listSystemViewNow();
    return { listedAtMs, roots: [...roots], folders: [...folders], files: [...files], links: [...links] };
  });
}
