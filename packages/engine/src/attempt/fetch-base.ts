/** The base of a run on a remote repository: fetched before anything else of its workspace exists. */
import { explainError, RemoteError } from '@caisson/ground';
import { definedOnly } from '@caisson/protocol';
import type { RunRecord } from '../ledger/index.ts';
import type { FetchedBase } from '../workspace/index.ts';
import { listEarlierBranches, type AdmittedRun, type DispatchRooms } from '../admission/index.ts';
import { orAborted } from '../platform/index.ts';
import { PrepareFailure } from './prepare-failure.ts';
import { resolveRemote } from './remote-access.ts';

/** What a workspace of a remote begins with; nothing for a run on the project itself. */
export interface RemoteStart {
  readonly fetched?: FetchedBase;
  readonly branchFrom?: string;
}

export async function fetchRemoteBase(
  rooms: DispatchRooms,
  run: Pick<AdmittedRun, 'runId' | 'request'>,
  record: RunRecord,
  { attempt, signal }: { readonly attempt: number; readonly signal: AbortSignal },
): Promise<RemoteStart> {
  const { runId, request } = run;
  const { repo, base, branch, continues, push } = request;
  if (repo === undefined) return {};
  const { clock, settings } = rooms;
  const earlier = branch === undefined ? [] : listEarlierBranches(rooms, continues, branch);
  const startedMs = clock.monotonicMs();
  const fetched = await failingAsRemote(async () => {
    const remote = await orAborted(signal, resolveRemote(rooms, request));
    const order = { ...remote, runId, attempt, maxBytes: settings.git.maxFetchBytes, signal };
    const pushTo = push === true && branch !== undefined ? { branch, earlier } : undefined;
    return await rooms.workspaces.fetchBase({ ...order, ...definedOnly({ base, pushTo }) });
  });
  const ms = Math.round(clock.monotonicMs() - startedMs);
  const { url, ref, commit } = fetched;
  await record.append('repository.fetched', { remote: url, ref, commit, ms }, { attempt });
  return { fetched, ...definedOnly({ branchFrom: earlier[0] }) };
}

/** Only what may pass is tried again. */
async function failingAsRemote<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const mayPass = error instanceof RemoteError && error.retryable;
    const reason = mayPass ? ('fetch-failed' as const) : ('worker-failed' as const);
    throw new PrepareFailure({ reason, detail: explainError(error).slice(0, 8000) }, { cause: error });
  }
}
