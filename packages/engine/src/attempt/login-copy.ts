/**
 * The user's log-in in a sandbox is a copy. The program in the sandbox refreshes its tokens there, as it does at home,
 * and the copy is compared with the user's file for as long as the attempt runs, and once more when it is over:
 *
 * copied ──► changed inside ──same account, and the user's file as copied──► written back to the user's file
 *    │             ├──the user's file has changed meanwhile──► the copy is replaced
 *    │             └──anything else──► reported, and not written back
 *    └──► the user's file changed (by themselves, or by another run) ──► the copy is replaced
 *
 * L1  The user's file is replaced in one step, and only its tokens change (`refreshed-login.ts`). What is of other
 *     services is not in the copy, and stays in the file.
 * L2  All processes of this user take turns, so that of two refreshes at once the first counts and the second run gets
 *     its tokens.
 * L3  What was copied last is stored beside the copy, where the agent cannot see it: a host that dies leaves enough to
 *     finish this.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  statSync,
  unwatchFile,
  watchFile,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder, readSmallFileSync, withFileLock, writeFileAtomic } from '@caisson/ground';
import { MAX_LOGIN_BYTES, RUNTIME_DESCRIPTORS, type Bind } from '@caisson/protocol';
import type { AdmittedRun, DispatchSettings } from '../admission/index.ts';
import { listTokens, readRefreshed } from './refreshed-login.ts';
import type { AttemptPaths } from './state-paths.ts';

const LOOK_MS = 500;
/** Each log-in file, and what of its top a run needs; undefined: all of it. */
const KNOWN = new Map(
  Object.values(RUNTIME_DESCRIPTORS).flatMap(({ loginFiles, login }) =>
    loginFiles.map((file) => [file, login?.members] as const),
  ),
);

type Folders = Pick<DispatchSettings, 'home' | 'userState'>;
type Places = Pick<AttemptPaths, 'login' | 'home'>;

export interface LoginCopy {
  /** For the agent alone; empty without a sandbox, where the copy is in its HOME. */
  readonly binds: readonly Bind[];
  readonly secrets: readonly { readonly name: string; readonly value: string }[];
}

/** Copies the log-in of a run that uses one. */
export function copyLogin({ home }: Folders, run: AdmittedRun, paths: Places): LoginCopy {
  const { login, foundLogin, name } = run.runtime;
  if (!login || foundLogin === null) return { binds: [], secrets: [] };
  const own = readLogin(realpathSync(foundLogin.path));
  if (own === null) throw new Error(`${foundLogin.path} cannot be read`);
  const text = pickUsed(foundLogin.file, own);
  const isOpen = run.grant.sandbox === 'none';
  const stored = join(paths.login, encodeURIComponent(foundLogin.file));
  const copy = isOpen ? join(paths.home, foundLogin.file) : stored;
  for (const path of [copy, stored]) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(copy, text, { mode: 0o600, flush: true });
  writeFileSync(`${stored}.base`, own, { mode: 0o600, flush: true });
  return {
    binds: isOpen ? [] : [{ source: copy, target: join(home, foundLogin.file), writable: true }],
    secrets: listTokens(text).map((value) => ({ name: `log-in of ${name}`, value })),
  };
}

/** Follows both files until it is stopped. `report` gets a sentence for the record. */
export function watchLogin(folders: Folders, paths: Places, report: (message: string) => void): () => void {
  const known = listCopies(folders, paths);
  let isBusy = false;
  const look = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    // A program may be writing: what cannot be taken over now is judged at the end.
    await compareLogin(folders, paths, { isFinal: false, report }).catch(() => undefined);
    isBusy = false;
  };
  const onChange = (): void => void look();
  const watched = known.flatMap(({ copy, own }) => [copy, own]);
  for (const path of watched) watchFile(path, { interval: LOOK_MS, persistent: false }, onChange);
  return () => {
    for (const path of watched) unwatchFile(path, onChange);
  };
}

/** Writes back what was refreshed; also for an attempt of a host that died. */
export async function compareLogin(
  folders: Folders,
  paths: Places,
  { isFinal = true, report }: { isFinal?: boolean; report(message: string): void },
): Promise<void> {
  for (const place of listCopies(folders, paths)) {
    makeFolder(folders.userState);
    const lock = join(folders.userState, `${encodeURIComponent(place.file)}.lock`);
    const message = await withFileLock(lock, () => compareOne(place));
    if (message !== null && (isFinal || message.isGood)) report(message.text);
  }
}

interface Place {
  readonly file: string;
  readonly own: string;
  readonly copy: string;
  readonly base: string;
}

/** The names say where each belongs; only files that a descriptor names are ever written. */
function listCopies({ home }: Folders, paths: Places): Place[] {
  if (!existsSync(paths.login)) return [];
  return readdirSync(paths.login)
    .filter((name) => name.endsWith('.base'))
    .flatMap((name) => {
      const stem = name.slice(0, -'.base'.length);
      const file = decodeURIComponent(stem);
      const inHome = join(paths.home, file);
      const copy = existsSync(inHome) ? inHome : join(paths.login, stem);
      return KNOWN.has(file) ? [{ file, own: join(home, file), copy, base: join(paths.login, name) }] : [];
    });
}

/** L2: inside the lock. */
async function compareOne({
  file,
  own,
  copy,
  base,
}: Place): Promise<{ text: string; isGood: boolean } | null> {
  if (!existsSync(own)) return null; // logged out meanwhile: nothing brings the file back
  const real = realpathSync(own);
  const [users, inside, before] = [real, copy, base].map(readLogin);
  if (users == null || before == null) return null;
  if (inside == null) return { text: refusal(file, 'it is not a readable file'), isGood: false };
  const known = pickUsed(file, before);
  const refreshed = readRefreshed(known, inside);
  if (refreshed.kind === 'refused') return { text: refusal(file, refreshed.why), isGood: false };
  if (users !== before) {
    if (readRefreshed(known, pickUsed(file, users)).kind === 'refused') return null; // another account: not for this run
    replaceCopy({ file, copy, base }, users);
    return null;
  }
  if (refreshed.kind === 'same') return null;
  const text = withUsed(file, users, refreshed.text);
  await writeFileAtomic(real, text, { mode: statSync(real).mode & 0o777 });
  replaceCopy({ file, copy, base }, text);
  return { text: `the program refreshed your log-in; its new tokens are in ~/${file}`, isGood: true };
}

/** In place: the copy is mounted by its inode. In this order: a copy older than its base would look like a refresh. */
function replaceCopy({ file, copy, base }: Omit<Place, 'own'>, text: string): void {
  writeFileSync(copy, pickUsed(file, text), { mode: 0o600, flush: true });
  writeFileSync(base, text, { mode: 0o600, flush: true });
}

/** The part of a log-in file that a run gets; empty if it is not JSON, as while someone writes it. */
function pickUsed(file: string, text: string): string {
  const members = KNOWN.get(file);
  if (members === undefined) return text;
  try {
    const all = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return JSON.stringify(Object.fromEntries(all.filter(([name]) => members.includes(name))));
  } catch {
    return '';
  }
}

function withUsed(file: string, text: string, used: string): string {
  if (KNOWN.get(file) === undefined) return used;
  return `${JSON.stringify({ ...(JSON.parse(text) as object), ...(JSON.parse(used) as object) }, null, 2)}\n`;
}

const refusal = (file: string, why: string): string =>
  `the log-in that the agent left was not written back to ~/${file}: ${why}. Your file is as it was.`;

function readLogin(path: string): string | null {
  return readSmallFileSync(path, MAX_LOGIN_BYTES)?.text ?? null;
}
