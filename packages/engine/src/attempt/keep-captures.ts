/**
 * Stores what an attempt produced. The host hashes the worker's captures again; without a result, or when a capture is
 * missing or altered, it captures the patch itself, so that no work is lost.
 */
import { hash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  capturePatch,
  explainError,
  shareTurn,
  sortChanges,
  withoutChanges,
  type SortedChanges,
} from '@caisson/ground';
import { pathRules, ruleAgainst } from '@caisson/policy';
import { definedOnly, type Failure, type ListedRisk, type Result } from '@caisson/protocol';
import type { AttemptRemains } from './attempt-remains.ts';
import type { DispatchRooms } from '../admission/index.ts';
import { hidesOf } from '../workspace/index.ts';
import { forEachOf } from '../platform/index.ts';
import { MAX_SMALL_BYTES } from '../store/index.ts';
import type { MayPass } from './passing-failure.ts';
import type { FoundResult } from './read-result.ts';

const MAX_NAMED = 64;
/** Of the large captures: each waits for the disk two or three times, and is in memory meanwhile. */
const STORED_AT_ONCE = 4;

export interface KeptCaptures {
  readonly resultRef?: string;
  readonly patchRef?: string;
  /** Why there is no patch although there may be work. */
  readonly patchMissing?: string;
  /** Changes of the patch that a person is asked about. */
  readonly risky?: ListedRisk[];
  /** The result that can be trusted: every capture it names is in the store. */
  readonly result: Result | null;
  /** Why the worker's result is not valid. */
  readonly failure: Failure | null;
  readonly warnings: readonly string[];
}

export interface KeepOptions {
  readonly mayPass: MayPass;
  /** The checkpoint under way; what is stored waits for the disk beside it. */
  readonly saving: Promise<unknown>;
}

export async function keepCaptures(
  rooms: DispatchRooms,
  remains: AttemptRemains,
  found: FoundResult,
  options: KeepOptions,
): Promise<KeptCaptures> {
  await shareTurn();
  if (found.kind !== 'valid') return keepLate(rooms, remains, null, options);
  const { result, bytes } = found;
  try {
    const resultRef = await ingest(rooms, remains, bytes, refsOf(result));
    if (result.patchRef !== undefined || result.status === 'finished') {
      const { patchRef, risky } = result;
      return { resultRef, ...definedOnly({ patchRef, risky }), result, failure: null, warnings: [] };
    }
    return { ...(await keepLate(rooms, remains, null, options)), resultRef, result };
  } catch (error) {
    if (options.mayPass(error)) throw error;
    return keepLate(rooms, remains, failureOf(error as NodeJS.ErrnoException), options);
  }
}

/** A missing or altered file is the worker's fault; a full disk is the machine's. */
function failureOf(error: NodeJS.ErrnoException): Failure {
  const isMissing = error.code === 'ENOENT' || error.code === undefined;
  return {
    reason: isMissing ? 'output-invalid' : 'worker-failed',
    detail: `what the run captured could not be stored: ${explainError(error)}`,
  };
}

function refsOf(result: Result): string[] {
  return [
    result.reply.ref,
    result.logs.stdout.ref,
    result.logs.stderr.ref,
    ...(result.patchRef === undefined ? [] : [result.patchRef]),
    ...result.outputs.map((output) => output.ref),
  ];
}

/**
 * Stores a result and its captures; returns the digest of the result. The small ones are one file, and wait for the disk
 * once: each of them counts for nothing without the others.
 */
async function ingest(
  { store }: DispatchRooms,
  { paths }: AttemptRemains,
  result: Buffer,
  refs: readonly string[],
): Promise<string> {
  const resultRef = hash('sha256', result);
  const { small, large } = await sortBySize(paths.captures, refs);
  (result.length > MAX_SMALL_BYTES ? large : small).set(resultRef, () => Promise.resolve(result));
  const keepLarge = async ([ref, read]: Capture): Promise<void> => {
    await store.putBlob(await readChecked(ref, read));
  };
  await Promise.all([
    Promise.all(Array.from(small, ([ref, read]) => readChecked(ref, read))).then((all) =>
      store.putBlobs(all),
    ),
    forEachOf([...large], keepLarge, STORED_AT_ONCE),
  ]);
  return resultRef;
}

type Capture = readonly [ref: string, read: () => Promise<Buffer>];

/** Each capture once, by its digest. */
async function sortBySize(
  folder: string,
  refs: readonly string[],
): Promise<Record<'small' | 'large', Map<string, Capture[1]>>> {
  const sorted = { small: new Map<string, Capture[1]>(), large: new Map<string, Capture[1]>() };
  for (const ref of new Set(refs)) {
    const file = join(folder, ref);
    const { size } = await stat(file);
    sorted[size > MAX_SMALL_BYTES ? 'large' : 'small'].set(ref, () => readFile(file));
  }
  return sorted;
}

async function readChecked(ref: string, read: () => Promise<Buffer>): Promise<Buffer> {
  const bytes = await read();
  const digest = hash('sha256', bytes);
  if (digest !== ref) throw new Error(`capture ${ref} has the digest ${digest}`);
  return bytes;
}

async function keepLate(
  rooms: DispatchRooms,
  remains: AttemptRemains,
  failure: Failure | null,
  { mayPass, saving }: KeepOptions,
): Promise<KeptCaptures> {
  const { workspace } = remains;
  await saving; // both read the workspace
  try {
    const { path, gitDir, baselineTree, exclude, limits } = workspace;
    const hides = hidesOf(workspace);
    const source = { workspace: path, gitDir, baselineTree, limits, hides, exclude: [...exclude] };
    const captured = await capturePatch(source);
    const { forbidden, risky } = await judgeLate(rooms, workspace, captured.tree);
    const final = await withoutChanges(
      source,
      captured,
      forbidden.map(({ change }) => change),
    );
    const patch = final.empty ? {} : { patchRef: (await rooms.store.putBlob(final.patch)).digest };
    return {
      ...patch,
      ...(risky.length === 0 ? {} : { risky }),
      result: null,
      failure,
      warnings: [
        ...forbidden.map(({ path: name, why }) => `${name} ${why}`),
        ...captured.hidden.map((name) => `${name} is hidden by a no-access rule`),
      ]
        .slice(0, MAX_NAMED)
        .map((said) => `${said} and was left out of the patch`),
    };
  } catch (error) {
    if (mayPass(error)) throw error;
    const patchMissing = `no patch could be captured from ${workspace.path}: ${explainError(error)}`;
    return { result: null, failure, patchMissing, warnings: [patchMissing] };
  }
}

/** Judged as the worker would have judged it: by the rules of the run, whatever the files say now. */
async function judgeLate(
  { settings }: DispatchRooms,
  workspace: AttemptRemains['workspace'],
  tree: string,
): Promise<SortedChanges> {
  const { gitDir, baselineTree, mountPath, path, controls } = workspace;
  const { rules, home } = workspace.judging ?? rulesOfNow(settings);
  const seen = { workspace: workspace.cwd, home, mountPath };
  return await sortChanges({
    ...{ gitDir, mountPath, own: controls, workspace: path, from: baselineTree, to: tree },
    leavesOutAsked: false,
    ruleAgainst: (file) => ruleAgainst(rules, file, seen),
  });
}

/** For a run that an earlier version started. Rules that could not be read are not "no rules". */
function rulesOfNow({ rules, home, hasAllRules }: DispatchRooms['settings']) {
  if (!hasAllRules)
    throw new Error('an earlier version started the run, and its rules about files cannot be read now');
  return { rules: pathRules(rules), home };
}
