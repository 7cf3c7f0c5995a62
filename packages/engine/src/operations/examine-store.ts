/** Every blob that a run or the registry needs, read and hashed for the doctor. Nothing is fetched or changed. */
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';
import type { ProbeReport } from '../discovery/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { openRegistry } from '../registry/index.ts';
import {
  inspectBlob,
  openLocalStore,
  throwUnlessProblem,
  type BlobProblem,
  type Store,
} from '../store/index.ts';
import { surveyBlobs } from './blob-roots.ts';
import { nameFirst } from './name-first.ts';
import type { NeededBlob } from './run-blobs.ts';

const ID = 'store';

export interface StoreOptions {
  /** Only check that the blobs exist, without reading them. */
  readonly isQuick?: boolean | undefined;
  /** Whether what is lost here may still be in a bucket. */
  readonly hasBucket?: boolean | undefined;
  onProgress?(done: number, total: number): void;
}

export interface NeededProblem extends BlobProblem, Pick<NeededBlob, 'runId' | 'what'> {}

export async function examineStore(
  stateDir: string,
  ledger: Ledger,
  options: StoreOptions = {},
): Promise<ProbeReport> {
  const { count, problems } = await findProblems(stateDir, ledger, options);
  const how = options.isQuick === true ? 'is there' : 'has its digest';
  if (problems.length === 0)
    return { id: ID, verdict: 'ok', detail: `each of ${count} blobs that are needed ${how}` };
  const findings = problems.map(describeProblem);
  return {
    id: ID,
    verdict: 'fail',
    outcome: problems.some(({ kind }) => kind === 'damaged') ? 'tampered' : 'incomplete',
    detail: nameFirst(findings),
    findings,
    remedy:
      'Restore them from a backup. Where a patch is lost, caisson diff RUN names the checkpoint that has the work.',
    ...(options.hasBucket === true ? { repair: 'caisson doctor --repair fetches what the bucket has.' } : {}),
  };
}

/** Problems of needed blobs, in the order of the runs. */
export async function findProblems(
  stateDir: string,
  ledger: Ledger,
  { isQuick, onProgress }: StoreOptions = {},
): Promise<{ readonly count: number; readonly problems: readonly NeededProblem[] }> {
  const store = openLocalStore(join(stateDir, 'store'));
  const registry = openRegistry({ folder: join(stateDir, 'registry'), store, clock: systemClock });
  const { needed } = await surveyBlobs({ ledger, store, registry });
  const problems: NeededProblem[] = [];
  const all = new Map(needed);
  let done = 0;
  for (const blob of all.values()) {
    const problem = await inspectBlob(store, blob.digest, isQuick === true ? { isQuick } : {});
    if (problem !== null) problems.push({ ...problem, runId: blob.runId, what: blob.what });
    else if (blob.isBundle === true) await addFiles(store, blob, all); // read later in this loop
    done += 1;
    onProgress?.(done, all.size);
  }
  return { count: all.size, problems };
}

async function addFiles(
  store: Store,
  { digest, runId, what }: NeededBlob,
  all: Map<string, NeededBlob>,
): Promise<void> {
  const { entries } = await store.readManifest(digest).catch((error: unknown) => {
    throwUnlessProblem(error);
    return { entries: [] };
  });
  for (const entry of entries)
    if (entry.kind === 'file' && !all.has(entry.digest))
      all.set(entry.digest, { digest: entry.digest, runId, what: `${what}/${entry.path}` });
}

function describeProblem({ what, runId, kind, digest, detail }: NeededProblem): string {
  const of = runId === null ? 'the registry' : runId;
  return kind === 'missing'
    ? `${what} of ${of} is missing (${digest})`
    : `${what} of ${of} is ${kind}: ${detail}`;
}
