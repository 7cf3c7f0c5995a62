import type { PreparedWorkspace } from '../workspace/index.ts';
import type { AttemptPaths } from './state-paths.ts';

/** What an attempt leaves behind, in this host or in one that died. */
export interface AttemptRemains {
  readonly runId: string;
  readonly attempt: number;
  readonly paths: AttemptPaths;
  readonly workspace: PreparedWorkspace;
  /** Its branch is handed over, and the steps of that are recorded. */
  readonly isForBranch: boolean;
  /** The end of its last process was seen. */
  readonly isProvenGone?: boolean;
  /** Releases network and limits. */
  release(): Promise<void>;
}
