/** Every blob that a run or the registry needs, read and hashed for the doctor. Nothing is fetched or changed. */
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';
import { definedOnly } from '@caisson/protocol';
import type { ProbeReport } from '../discovery/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { openRegistry } from '../registry/index.ts';
import {
  DigestTags,
  inspectBlob,
  listDamagedPacks,
  listRescues,
  openLocalStore,
  throwUnlessProblem,
  type BlobProblem,
  type Store,
} from '../store/index.ts';
import { surveyBlobs } from './blob-roots.ts';
import type { NeededBlob } from './run-blobs.ts';

const ID = 'store';
/** So many things that one run needs are named in a line. */
const MAX_NAMED = 5;
/** The one mark of a blob. */
const SEEN = 1;

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
  return {
    id: ID,
    verdict: 'fail',
    outcome: problems.some(({ kind }) => kind === 'damaged') ? 'tampered' : 'incomplete',
    detail: `${problems.length === 1 ? '1 blob that is' : `${problems.length} blobs that are`} needed cannot be used`,
    findings: problems.map(describeProblem),
    lines: describeTogether(problems, listDamagedPacks(join(stateDir, 'store'))),
    remedy:
      'Restore them from a backup. Where a patch is lost, caisson diff RUN names the checkpoint that has the work.',
    ...(await describeHelp(stateDir, options)),
  };
}

async function describeHelp(
  stateDir: string,
  { hasBucket }: StoreOptions,
): Promise<Pick<ProbeReport, 'repair'>> {
  const rescues = await listRescues(join(stateDir, 'store'));
  const steps = [
    ...(rescues.has('whole') ? ['makes the index of a damaged pack again'] : []),
    ...(rescues.has('partial') ? ['saves what is intact in a pack that has lost a part'] : []),
    ...(hasBucket === true ? ['fetches what the bucket has'] : []),
  ];
  return steps.length === 0 ? {} : { repair: `caisson doctor --repair ${steps.join(', and ')}.` };
}

/** Problems of needed blobs, in the order of the runs. */
export async function findProblems(
  stateDir: string,
  ledger: Ledger,
  { isQuick, onProgress }: StoreOptions = {},
): Promise<{ readonly count: number; readonly problems: readonly NeededProblem[] }> {
  const store = openLocalStore(join(stateDir, 'store'));
  const registry = openRegistry({ folder: join(stateDir, 'registry'), store, clock: systemClock });
  const problems: NeededProblem[] = [];
  const seen = new DigestTags();
  const isNew = (digest: string): boolean => seen.add(digest, SEEN) === 0;
  const inspect = async (blob: NeededBlob): Promise<void> => {
    const problem = await inspectBlob(store, blob.digest, isQuick === true ? { isQuick } : {});
    if (problem !== null) problems.push({ ...problem, runId: blob.runId, what: blob.what });
    else if (blob.isBundle === true)
      for (const file of await listFiles(store, blob)) if (isNew(file.digest)) await inspect(file);
  };
  // Only what must exist is looked at.
  const roots = { add: () => undefined, need: isNew };
  await surveyBlobs({ ledger, store, registry }, roots, {
    onNeeded: inspect,
    ...definedOnly({ onProgress }),
  });
  return { count: seen.size, problems };
}

async function listFiles(store: Store, { digest, runId, what }: NeededBlob): Promise<NeededBlob[]> {
  const { entries } = await store.readManifest(digest).catch((error: unknown) => {
    throwUnlessProblem(error);
    return { entries: [] };
  });
  return entries.flatMap((entry) =>
    entry.kind === 'file' ? [{ digest: entry.digest, runId, what: `${what}/${entry.path}` }] : [],
  );
}

/** A line for each damaged file, and for each run whose content is in one of several packs, or nowhere. */
function describeTogether(problems: readonly NeededProblem[], packs: readonly string[]): string[] {
  const isSomewhere = ({ file = '' }: NeededProblem): boolean => packs.length > 1 && packs.includes(file);
  const causes = Map.groupBy(problems, (problem) => {
    const { file, runId, kind } = problem;
    return file === undefined || isSomewhere(problem) ? `${nameOwner(runId)} ${kind}` : file;
  });
  const lines = Array.from(causes.values(), (together) => {
    const owners = Map.groupBy(together, ({ runId }) => nameOwner(runId));
    const needed = Array.from(
      owners,
      ([owner, of]) => `${listFirst(of.map(({ what }) => what))} of ${owner}`,
    );
    const [first] = together;
    if (first === undefined || first.file === undefined) return `${first?.kind}: ${needed.join('; ')}`;
    return isSomewhere(first)
      ? `in one of these packs: ${needed.join('; ')}`
      : `${first.file} is ${first.kind}: ${needed.join('; ')}`;
  });
  return [...(problems.some(isSomewhere) ? packs.map((file) => `${file} is damaged`) : []), ...lines];
}

function listFirst(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return `${names.slice(0, MAX_NAMED).join(', ')}${more}`;
}

function nameOwner(runId: string | null): string {
  return runId ?? 'the registry';
}

function describeProblem({ what, runId, kind, digest, detail }: NeededProblem): string {
  const of = nameOwner(runId);
  return kind === 'missing'
    ? `${what} of ${of} is missing (${digest})`
    : `${what} of ${of} is ${kind}: ${detail}`;
}
