/** What this project takes on the disk: its state folder, and what our refs keep in the user's repository. */
import { measureState, type StateUsage } from '../attempt/index.ts';
import type { Engine } from '../engine.ts';
import type { RefUsage } from '../workspace/index.ts';

export interface ProjectUsage extends StateUsage {
  /** Null without a repository. Its objects are not part of `bytes`. */
  readonly refs: (RefUsage & { readonly frees: string }) | null;
}

/** Git removes objects that no ref names when it cleans up. */
const FREES =
  'caisson gc --all --older-than 0s (runs whose work you have), or caisson forget RUN; then git gc';

export async function measureUsage({ config, workspaces }: Engine): Promise<ProjectUsage> {
  const refs = await workspaces.measureRefs({ projectRoot: config.projectRoot });
  return {
    ...(await measureState(config.stateDir)),
    refs: refs === null ? null : { ...refs, frees: FREES },
  };
}
