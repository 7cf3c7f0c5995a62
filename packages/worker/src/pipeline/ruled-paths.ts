/**
 * The files of the workspace that the rules of caisson.yaml name, so that the sandbox can enforce what the gate only
 * asks for: `no-access` is not visible, `read-only` cannot be written. `no-delete` has no mount that would not also
 * break writing by rename; a deletion against it is left out of the patch.
 *
 * A rule about one folder costs one check. A rule about names anywhere needs a walk, which is limited. Where it finds many
 * files, a folder that has nothing else is hidden as a whole (hidden-folders.ts). Beyond that a
 * `no-access` rule refuses the run: files of the repository must not switch off a rule of the user. A `read-only` rule is
 * enforced by the gate and the patch only, and a warning says so.
 */
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { placesOnWay } from '@caisson/ground';
import { isRuleAbout, pathRules } from '@caisson/policy';
import type { Job, PathRule } from '@caisson/protocol';
import { listFolder, listFolderBytes } from '../view/index.ts';
import { hideWholeFolders } from './hidden-folders.ts';

const MAX_ENTRIES = 1_000_000;
const MAX_PATHS = 256;
/** Every mount makes the next one slower: so many, and the folders they are in, take half a second. */
const MAX_HIDDEN = 512;

export interface RuledPaths {
  /** As seen inside. */
  readonly hidden: readonly string[];
  readonly readOnly: readonly string[];
  /** Folders of the machine that a rule names by their absolute path; everything there is read-only anyway. */
  readonly outside: readonly string[];
  /** Brought folders, and settings of tools, that a `no-access` rule names by an absolute path or from `~`, that it contains, or that contain it. */
  readonly unbrought: readonly string[];
  /** Why the sandbox cannot hide all that a `no-access` rule names, or `null`. */
  readonly refusal: string | null;
  /** Why the sandbox does not enforce all of a `read-only` rule, or `null`. */
  readonly gap: string | null;
}

export function findRuledPaths(job: Job): RuledPaths {
  const { cwd, mountPath } = job.workspace;
  const rules = pathRules(job.rules).filter(({ action }) => action !== 'no-delete');
  const found = { hidden: new Set<string>(), readOnly: new Set<string>() };
  const add = ({ action }: PathRule, place: string): void =>
    void (action === 'no-access' ? found.hidden : found.readOnly).add(place);
  for (const rule of rules) {
    const fixed = fixedPlace(rule);
    if (fixed !== null && existsSync(hostPlace(job, join(cwd, fixed)))) add(rule, join(cwd, fixed));
  }
  const roaming = rules.filter((rule) => fixedPlace(rule) === null && mayBeInside(rule, job));
  const { isComplete, unnamed } = walk(job, roaming, { add, isHidden: (at) => found.hidden.has(at) });
  const hides = roaming.some(({ action }) => action === 'no-access');
  const hidden = joinHidden(job, found.hidden);
  return {
    hidden,
    readOnly: [...found.readOnly].slice(0, MAX_PATHS),
    outside: rules.flatMap((rule) => outsidePlace(rule, mountPath)),
    unbrought: findUnbrought(job, rules),
    refusal: describeUnnamed(unnamed) ?? describeRefusal(job, isComplete || !hides, hidden),
    gap: describeGap(isComplete, found.readOnly.size),
  };
}

/** The one place a rule is about: `secrets/**` and `config/prod.env`, but not `*.pem` or `.env`, which may be anywhere. */
function fixedPlace({ path }: PathRule): string | null {
  if (/^[/~]/.test(path)) return null;
  const bare = path.replace(/^\.\//, '').replace(/\/(\*\*)?$/, '');
  const isAnchored = path.startsWith('./') || path.replace(/\/$/, '').includes('/');
  const isFixed = isAnchored && !/[*?[\]{}()!+@]/.test(bare);
  return isFixed && bare !== '' && !bare.split('/').includes('..') ? bare : null;
}

/** A rule about an absolute place is about the workspace only if one of them is in the other. */
function mayBeInside({ path }: PathRule, { workspace: { mountPath }, sandbox: { home } }: Job): boolean {
  if (!/^[/~]/.test(path)) return true;
  const base = fixedBase(path.replace(/^~/, home));
  return isOn(base, mountPath) || isOn(mountPath, base);
}

/** Where a path of the workspace is on the host: a brought folder is in the user's own. */
function hostPlace({ workspace: { path, mountPath, brought = [] } }: Job, inside: string): string {
  const folder = brought.find(({ target }) => inside === target || inside.startsWith(`${target}/`));
  const { source, target } = folder ?? { source: path, target: mountPath };
  return join(source, relative(target, inside));
}

function outsidePlace({ path, action }: PathRule, mountPath: string): string[] {
  const bare = path.replace(/\/(\*\*)?$/, '');
  const isPlain = action === 'no-access' && /^\/[^*?[\]{}()!]+$/.test(bare);
  return isPlain && !`${mountPath}/`.startsWith(`${bare}/`) && !bare.startsWith(`${mountPath}/`)
    ? [bare]
    : [];
}

/** Rule and place are compared by every name: settings of tools are often links into a folder of the user's own. */
function findUnbrought({ workspace: { brought = [] }, sandbox }: Job, rules: readonly PathRule[]): string[] {
  const bases = rules
    .filter(({ path, action }) => action === 'no-access' && /^[/~]/.test(path))
    .flatMap(({ path }) => namesOf(fixedBase(path.replace(/^~/, sandbox.home))));
  const holds = (folder: string, path: string): boolean => `${path}/`.startsWith(`${folder}/`);
  const settings = (sandbox.files ?? []).map(({ path }) => ({ source: path, target: path }));
  const isNamed = (place: string): boolean => bases.some((base) => holds(base, place) || holds(place, base));
  return [...brought, ...settings]
    .filter(({ source }) => namesOf(source).some(isNamed))
    .map(({ target }) => target);
}

const namesOf = (path: string): string[] => [path, ...placesOnWay(path)];

/** The folders before the first wildcard. */
function fixedBase(path: string): string {
  const names = path.split('/').filter(Boolean);
  const wild = names.findIndex((name) => /[*?[\]{}()!]/.test(name));
  const fixed = names.slice(0, wild === -1 ? names.length : wild);
  return fixed.map((name) => `/${name}`).join('');
}

interface Findings {
  add(rule: PathRule, place: string): void;
  isHidden(place: string): boolean;
}

interface Walked {
  /** `false` when there are too many entries. */
  readonly isComplete: boolean;
  /** What must be hidden, and cannot be named to the sandbox: its name is not UTF-8. */
  readonly unnamed: string | null;
}

function walk(job: Job, rules: readonly PathRule[], { add, isHidden }: Findings): Walked {
  if (rules.length === 0) return { isComplete: true, unnamed: null };
  const { cwd, mountPath } = job.workspace;
  const place = { cwd, mountPath, home: job.sandbox.home };
  const own = [cwd, mountPath].flatMap((folder) => [join(folder, '.git'), join(folder, '.caisson')]);
  let entries = 0;
  let unnamed: string | null = null;
  const folders = [{ path: mountPath, host: Buffer.from(hostPlace(job, mountPath)), isText: true }];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of listFolderBytes(folder.host)) {
      const name = entry.name.toString('utf8');
      const inside = join(folder.path, name);
      if (own.includes(inside)) continue;
      entries += 1;
      if (entries > MAX_ENTRIES) return { isComplete: false, unnamed };
      const isText = folder.isText && Buffer.from(name).equals(entry.name);
      for (const rule of rules) {
        if (!isRuleAbout(rule, inside, place)) continue;
        if (isText) add(rule, inside);
        else if (rule.action === 'no-access') unnamed ??= inside;
      }
      if (!entry.isDirectory() || isHidden(inside)) continue;
      const beside = Buffer.concat([folder.host, Buffer.from('/'), entry.name]);
      const host = isText ? Buffer.from(hostPlace(job, inside)) : beside;
      folders.push({ path: inside, host, isText });
    }
  }
  return { isComplete: true, unnamed };
}

function describeUnnamed(path: string | null): string | null {
  if (path === null) return null;
  return `a no-access rule names ${path}, and the sandbox cannot hide a path that is not UTF-8. Rename it, or move it to a folder that a rule hides as a whole`;
}

/** Only where it must be: in a folder that is hidden as a whole nothing can be made, either. */
function joinHidden(job: Job, hidden: ReadonlySet<string>): string[] {
  if (hidden.size <= MAX_PATHS) return [...hidden];
  const { cwd, mountPath } = job.workspace;
  const list = (folder: string): string[] =>
    listFolder(hostPlace(job, folder)).map(({ name }) => join(folder, name));
  return hideWholeFolders(hidden, list, (folder) => [cwd, mountPath].some((top) => isOn(top, folder)));
}

/** Whether the folder is the path itself, or on the way to it. */
const isOn = (path: string, folder: string): boolean => `${path}/`.startsWith(`${folder}/`);

function describeRefusal({ workspace }: Job, isComplete: boolean, hidden: readonly string[]): string | null {
  if (!isComplete)
    return `the workspace has more than ${MAX_ENTRIES} entries, too many to hide what the no-access rules name in any folder. Give these rules a folder ("config/*.key"), or remove what is not needed`;
  if (hidden.length <= MAX_HIDDEN) return null;
  const [folder, count] = findFullest(hidden);
  const rule = `{ path: "./${relative(workspace.cwd, folder)}/**", action: no-access, reason: "…" }`;
  const remedy = isOn(workspace.cwd, folder)
    ? 'Move them to a folder of their own'
    : `A rule for the whole folder counts as one: ${rule}; or move them to a folder of their own`;
  return `the no-access rules name ${hidden.length} paths, and the sandbox hides at most ${MAX_HIDDEN}. ${count} of them are in ${folder}, beside other files. ${remedy}`;
}

function findFullest(paths: readonly string[]): readonly [string, number] {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts].reduce((most, each) => (each[1] > most[1] ? each : most));
}

function describeGap(isComplete: boolean, paths: number): string | null {
  if (!isComplete)
    return `the workspace has more than ${MAX_ENTRIES} entries: beyond that only the gate and the patch enforce rules about names in any folder`;
  if (paths > MAX_PATHS)
    return `the rules make ${paths} paths read-only; the sandbox enforces ${MAX_PATHS}, only the gate and the patch enforce the others`;
  return null;
}
