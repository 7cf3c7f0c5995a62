/** What every invariant is given, and what it returns: one sentence for each breach. */
import type { CliRun } from '../../../e2e/open-project.ts';
import type { Stage } from '../contract.ts';

export interface Aftermath {
  readonly stage: Stage;
  /** What the commands under fault said. */
  readonly cli: readonly CliRun[];
  /** Whether work that was not saved yet may be gone. */
  readonly losesUnsynced: boolean;
}

export interface Invariant {
  readonly name: string;
  check(aftermath: Aftermath): Promise<readonly string[]> | readonly string[];
}
