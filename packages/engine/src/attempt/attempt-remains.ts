import type { PreparedWorkspace } from '../workspace/index.ts';
import type { AttemptPaths } from './state-paths.ts';

/** What an attempt leaves behind, in this host or in one that died. */
export interface AttemptRemains {
  readonly runId: string;
  readonly attempt: number;
  readonly paths: AttemptPaths;
  readonly workspace: PreparedWorkspace;
  /** Releases network and limits. */
  release(): Promise<void>;
}
