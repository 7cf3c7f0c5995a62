/**
 * Where an agent keeps what it needs to go on later: one folder for a run and all that continue it. It is the only part
 * of the agent's private HOME that outlives an attempt.
 *
 * The agent is shown `own` in it and never the folder itself: beside `own` lie the folders that are mounted by their
 * path at the next attempt, and a link in the place of one would mount any folder of the user.
 */
import { existsSync, mkdirSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import type { Job } from '@caisson/protocol';
import type { RunRow } from '../ledger/index.ts';
import type { AdmittedRun } from './contract.ts';
import { attemptPaths } from './state-paths.ts';

/** A chain longer than this starts a session of its own. */
const MAX_CHAIN = 1000;

export interface AgentSession {
  /** What the agent is shown; `null` for a runtime that cannot resume. */
  readonly folder: string | null;
  readonly resume: Job['resume'];
}

/** Makes the folder, and says whether the earlier session is really there to be resumed. */
export function openAgentSession(
  run: Pick<AdmittedRun, 'runId' | 'request' | 'runtime'>,
  options: {
    readonly stateDir: string;
    readonly find: (runId: string) => Pick<RunRow, 'continues'> | null;
  },
): AgentSession {
  if (!run.runtime.descriptor.canResume) return { folder: null, resume: undefined };
  const first = firstOfChain(run.runId, run.request.continues, options.find);
  const root = attemptPaths(options.stateDir, first, 1).session;
  const folder = join(root, 'own');
  const isThere = existsSync(root);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const now = new Date();
  utimesSync(root, now, now); // its age is how long nobody has used it
  return { folder, resume: isThere ? run.request.resume : undefined };
}

/** Without a sandbox HOME is a private folder, and the session is linked into it. */
export function linkSession(privateHome: string, folder: string | null): void {
  const link = join(privateHome, '.caisson-session');
  if (folder !== null && !existsSync(link)) symlinkSync(folder, link);
}

function firstOfChain(
  runId: string,
  continues: string | undefined,
  find: (runId: string) => Pick<RunRow, 'continues'> | null,
): string {
  let first = runId;
  let next = continues;
  for (let steps = 0; next !== undefined && steps < MAX_CHAIN; steps += 1) {
    first = next;
    next = find(next)?.continues;
  }
  return first;
}
