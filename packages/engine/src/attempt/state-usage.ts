/** What uses the space of a state folder, for a user who must free some. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ifErrno, measureTree } from '@caisson/ground';
import { formatSize } from '@caisson/protocol';
import { isOnlyCopy } from '../workspace/index.ts';

export interface SpaceHolder {
  readonly path: string;
  readonly bytes: number;
}

/** What a part is, and the command that makes it smaller; null where none does. */
interface Purpose {
  readonly what: string;
  readonly frees: string | null;
}

/** A part of a state folder. */
export interface StatePart extends SpaceHolder, Purpose {
  readonly name: string;
}

/** The command that frees what no run needs. */
const COLLECT = 'caisson gc --older-than 0s';
const COLLECT_LEFT = `${COLLECT} (only what ended runs left)`;
const FORGET = 'caisson gc --all --older-than 0s (runs whose work you have), or caisson forget RUN';

const PURPOSES: Readonly<Record<string, Purpose>> = {
  'ledger.db': { what: 'the events of all runs', frees: null },
  store: { what: 'patches, logs, replies, outputs', frees: FORGET },
  git: { what: 'checkpoints of runs without a repository', frees: FORGET },
  remotes: {
    what: 'copies of remote repositories, with the checkpoints of their runs',
    frees: `${FORGET}; a copy that no run needs goes after git.cacheAge`,
  },
  trash: { what: 'ignored files of ended runs, and work that could not be saved', frees: COLLECT },
  'held-back': { what: 'the only copy of work', frees: 'caisson gc --held-back, which deletes it for good' },
  worktrees: { what: 'workspaces of runs under way', frees: COLLECT_LEFT },
  runtime: { what: 'what running attempts need', frees: COLLECT_LEFT },
  'runtime/layers': {
    what: 'what runs under way wrote into folders that they were brought',
    frees: COLLECT_LEFT,
  },
  'runtime/homes': { what: 'home folders of runs under way', frees: COLLECT_LEFT },
  'runtime/spool': { what: 'what long runs printed', frees: COLLECT },
  'runtime/sessions': {
    what: 'conversations that can be continued, for 7 days',
    frees: 'caisson forget RUN',
  },
  registry: { what: 'agents, capabilities, env bundles and pipelines', frees: null },
};
const UNKNOWN: Purpose = { what: '', frees: null };
/** Parts of `runtime` that are reported by themselves. */
const SPLIT = Object.keys(PURPOSES).filter((name) => name.startsWith('runtime/'));

/** Folders whose entries each belong to one attempt, or to one run. */
const PARTED = [
  ...['worktrees', 'trash', 'held-back'],
  ...['overlays', 'captures', 'spool', 'homes', 'layers', 'sessions'].map((name) => join('runtime', name)),
];
const WHOLE = ['store', 'ledger.db', 'ledger.db-wal'];
const WORTH_NAMING_BYTES = 2 ** 20;
const MAX_LARGEST = 10;

/** A whole state folder, by its parts. */
export interface StateUsage {
  readonly stateDir: string;
  readonly bytes: number;
  /** The largest first. */
  readonly parts: readonly StatePart[];
  /** What belongs to one attempt or one run, the largest first. */
  readonly largest: readonly SpaceHolder[];
}

export async function measureState(stateDir: string): Promise<StateUsage> {
  const parts: StatePart[] = [];
  for (const name of [...SPLIT, ...(await list(stateDir))]) {
    const path = join(stateDir, name);
    const inside = parts.filter((part) => part.name.startsWith(`${name}/`));
    const bytes = (await measureTree(path)) - sum(inside);
    if (bytes > 0) parts.push({ name, path, bytes, ...(PURPOSES[name] ?? UNKNOWN) });
  }
  const largest = (await measureAll(await listParts(stateDir))).slice(0, MAX_LARGEST);
  return { stateDir, bytes: sum(parts), parts: parts.toSorted(byBytes), largest };
}

/** The largest first. */
export async function listLargest(stateDir: string, max = 3): Promise<SpaceHolder[]> {
  const whole = WHOLE.map((name) => join(stateDir, name));
  return (await measureAll([...(await listParts(stateDir)), ...whole])).slice(0, max);
}

/** What frees space on a full disk: the command, if there is something for it, and the largest thing with what to do. */
export async function describeLargest(stateDir: string): Promise<string> {
  const parts = await listParts(stateDir).then(measureAll, () => []);
  const freed: SpaceHolder[] = [];
  for (const part of parts)
    if (part.path.startsWith(join(stateDir, 'trash/')) && !(await isOnlyCopy(part.path))) freed.push(part);
  const trash = sum(freed);
  const [largest] = parts.filter((part) => !freed.includes(part));
  const said: string[] = [];
  if (trash >= WORTH_NAMING_BYTES) said.push(`${COLLECT} frees up to ${formatSize(trash)}: the trash.`);
  if (largest !== undefined && largest.bytes >= WORTH_NAMING_BYTES)
    said.push(
      `Most of what Caisson has there is in ${largest.path} (${formatSize(largest.bytes)}): remove what you do not need of it, or make the disk larger.`,
    );
  return said.join(' ');
}

async function listParts(stateDir: string): Promise<string[]> {
  const listed = PARTED.map(async (name) =>
    (await list(join(stateDir, name))).map((entry) => join(stateDir, name, entry)),
  );
  return (await Promise.all(listed)).flat();
}

async function measureAll(paths: readonly string[]): Promise<SpaceHolder[]> {
  const found: SpaceHolder[] = [];
  const seen = new Set<string>();
  for (const path of paths) found.push({ path, bytes: await measureTree(path, seen) });
  return found.toSorted(byBytes);
}

const byBytes = (left: SpaceHolder, right: SpaceHolder): number => right.bytes - left.bytes;
const sum = (holders: readonly SpaceHolder[]): number =>
  holders.reduce((total, { bytes }) => total + bytes, 0);

async function list(folder: string): Promise<string[]> {
  return await readdir(folder).catch(ifErrno([], 'ENOENT', 'ENOTDIR', 'EACCES'));
}
