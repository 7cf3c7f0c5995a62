/**
 * What the runs of a session share on disk: board and context registry, one folder a session.
 *
 * SE1  Workers write these files too; every change uses ground's lock, so no change is lost.
 * SE2  Board and context are working data: no ending, no status and no evidence depends on them.
 * SE3  A run without a session has a private one, named by its own id; no other run gets its paths.
 */
import type { Board, ContextRegistry } from '@caisson/ground';

export interface SessionPaths {
  readonly board: string;
  readonly context: string;
}

export interface SessionSummary {
  readonly name: string;
  readonly boardKeys: number;
  readonly findings: number;
  readonly changedAt: string;
}

export interface Sessions {
  /** Where the files of a session are; makes its folder. Throws SessionNameError. */
  paths(name: string): SessionPaths;
  board(name: string): Board;
  context(name: string): ContextRegistry;
  list(): Promise<readonly SessionSummary[]>;
  /** Empties board and context and reports it on the bus; false when there was nothing. */
  reset(name: string): Promise<boolean>;
  /** Removes the sessions of these names with their content. */
  remove(names: readonly string[]): Promise<void>;
}
