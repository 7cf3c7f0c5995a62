// Turns a spec into an ordered list of mounts.
//
// The order is by depth, so that a mount never hides one that was made before it. bubblewrap creates a missing mount
// point; that is wanted on a folder in memory, and never on the user's disk (S3). The plan therefore follows every
// target back to the folder on the host that will be under it and checks that it exists.
import { dirname, join, relative } from 'node:path';
import type { SandboxSpec } from './contract.ts';
import { SandboxSpecError } from './errors.ts';
import { listHidden } from './hidden-paths.ts';
import { LAYER_STAGE } from './layer-mounts.ts';
import { sourceOf } from './named-folder.ts';
import { canonical, findRealPath, findStats, isInside, leavesFolder, linksOn } from './real-path.ts';
import { listSystemView, type SystemView } from './system-view.ts';
import { findGuarded, findGuardedInLayers } from './workspace-guards.ts';

/** One step of building the view. `scratch` is a folder in memory. */
export type Mount =
  | {
      readonly kind: 'bind';
      readonly target: string;
      readonly source: string;
      readonly writable: boolean;
      /** Name in the store of the private overlay that comes on top (layer-mounts.ts). */
      readonly layer?: string;
    }
  | {
      readonly kind: 'scratch';
      readonly target: string;
      readonly maxBytes: number;
      readonly mode: number;
    }
  /** A folder in memory with these files and nothing else, read-only once everything is mounted. */
  | { readonly kind: 'mask'; readonly target: string; readonly files: Readonly<Record<string, string>> }
  | { readonly kind: 'text'; readonly target: string; readonly content: string }
  /** A link of the host that a folder in memory hides; `to` has no links in it. */
  | { readonly kind: 'link'; readonly target: string; readonly to: string }
  | { readonly kind: 'proc' | 'dev'; readonly target: string };

/** A replaced folder is one page of memory. Making it read-only as well would cost a second mount, and stop nothing. */
const HIDDEN_MAX_BYTES = 4096;
/** Space for the files of a system's folder that are copied. */
const SYSTEM_MAX_BYTES = 8 * 1024 * 1024;

interface Wish {
  readonly mount: Mount;
  /** What to do when the mount point is missing on the disk: skip the mount, or refuse the spec. */
  readonly whenMissing: 'skip' | 'refuse';
}

/** The mounts in the order in which they must be made. What is known to have `vanished` is not covered. */
export function planMounts(
  spec: SandboxSpec,
  vanished: ReadonlySet<string> = new Set(),
  view: SystemView = listSystemView(),
): Mount[] {
  const byTarget = new Map<string, Wish>();
  for (const wish of listWishes(spec, vanished, view)) byTarget.set(wish.mount.target, wish);
  const wishes = [...byTarget.values()].sort((a, b) => depth(a.mount.target) - depth(b.mount.target));
  const plan: Mount[] = [];
  for (const wish of wishes) if (isPossible(wish, plan)) plan.push(wish.mount);
  return [...plan, ...listLinks(spec, plan), ...listSystemLinks(view, plan)];
}

/** Links of the system's folders, unless a caller's mount is there. */
function listSystemLinks({ links }: SystemView, plan: readonly Mount[]): Mount[] {
  const shown = links.filter(({ path }) => isFree(path, plan));
  return shown.map(({ path, to }) => ({ kind: 'link', target: path, to }));
}

/** Whether a folder in memory is at this path without links, and nothing else is mounted there. */
export function isFree(path: string, plan: readonly Mount[]): boolean {
  return nearestParent(path, plan).kind === 'scratch' && !plan.some(({ target }) => target === path);
}

/**
 * A mount over a link affects the link's target. A program that uses the name with the link must find the link as well.
 */
function listLinks(spec: SandboxSpec, plan: readonly Mount[]): Mount[] {
  const named = [
    ...spec.binds.map(({ target }) => target),
    ...[spec.workspace?.target, spec.home.path, spec.tmp.path].filter((path) => path !== undefined),
  ];
  const links = new Map(named.flatMap(linksOn));
  return [...links].flatMap(([target, to]): Mount[] =>
    nearestParent(target, plan).kind === 'scratch' ? [{ kind: 'link', target, to }] : [],
  );
}

/** Later mounts replace earlier ones for the same target: what the caller names replaces what is hidden by default. */
function listWishes(spec: SandboxSpec, vanished: ReadonlySet<string>, view: SystemView): Wish[] {
  const skip = (mount: Mount): Wish => ({ mount, whenMissing: 'skip' });
  const refuse = (mount: Mount): Wish => ({ mount, whenMissing: 'refuse' });
  const hidden = listHidden(spec, vanished);
  const guards = guardWorkspace(spec);
  return [
    refuse({ kind: 'bind', target: '/', source: '/', writable: false }),
    refuse({ kind: 'proc', target: '/proc' }),
    // Seccomp denies ptrace, but memory is a file, too: a process that writes to the first process, which has the same
    // user, could disable its death with the parent. It is not hidden as a whole: programs use it to find out where
    // they run.
    refuse(bind('/dev/null', '/proc/1/mem', false)),
    refuse(scratch('/proc/1/task', HIDDEN_MAX_BYTES, 0o555)),
    refuse({ kind: 'dev', target: '/dev' }),
    refuse(scratch('/dev/shm', spec.tmp.maxBytes, 0o1777)),
    ...view.roots.map((path) => refuse(scratch(path, SYSTEM_MAX_BYTES, 0o755))),
    ...view.folders.map((path) => refuse(bind(path, path, false))),
    ...hidden.readOnly.map((path) => skip(bind(path, path, false))),
    ...hidden.folders.map((path) => skip(scratch(path, HIDDEN_MAX_BYTES, 0o755))),
    ...hidden.files.map((path) => skip(bind('/dev/null', path, false))),
    skip(scratch(canonical('/tmp'), spec.tmp.maxBytes, 0o1777)),
    (view.roots.includes('/var') ? refuse : skip)(scratch(canonical('/var/tmp'), spec.tmp.maxBytes, 0o1777)),
    refuse(scratch(canonical(spec.tmp.path), spec.tmp.maxBytes, 0o1777)),
    refuse(scratch(canonical(spec.home.path), spec.home.maxBytes, 0o700)),
    ...workspaceMounts(spec).map(refuse),
    ...guards.readOnly.map(skip),
    ...pinnedFolders(spec).map((path) => refuse(scratch(path, spec.home.maxBytes, 0o700))),
    ...(spec.frozen ?? []).map((path) => refuse(scratch(canonical(path), spec.home.maxBytes, 0o755))),
    ...spec.binds.map((each) => refuse(bind(sourceOf(each, spec), canonical(each.target), each.writable))),
    ...layerWishes(spec),
    ...(spec.layers?.store === undefined ? [] : [refuse(bind(spec.layers.store, LAYER_STAGE, true))]),
    ...guards.layered.map(skip),
    ...guards.hidden.map(skip),
    ...guards.masked.map(skip),
    ...guards.kept.map(refuse),
    ...(spec.mailbox ? [refuse(bind(spec.mailbox.source, canonical(spec.mailbox.target), true))] : []),
  ];
}

function workspaceMounts(spec: SandboxSpec): Mount[] {
  if (spec.workspace === null) return [];
  const { source, target, readOnly } = spec.workspace;
  return [bind(source, canonical(target), !readOnly)];
}

/** In the workspace an earlier program may have moved a mount point, or put a link on the way to it. */
function layerWishes({ layers, workspace }: SandboxSpec): Wish[] {
  return (layers?.folders ?? []).flatMap(({ source, target }, index): Wish[] => {
    if (findRealPath(source) !== source) return []; // its owner removed or replaced it meanwhile
    const mount = { ...bindAsNamed(source, canonical(target)), layer: String(index) };
    const inside = workspace === null ? '..' : relative(workspace.target, target);
    if (workspace === null || leavesFolder(inside)) return [{ mount, whenMissing: 'refuse' }];
    const root = findRealPath(workspace.source) ?? workspace.source;
    const isAsMade = findRealPath(join(root, inside)) === join(root, inside);
    return isAsMade ? [{ mount, whenMissing: 'skip' }] : [];
  });
}

/** What stays visible and cannot be written, and what is not shown; see workspace-guards.ts. */
function guardWorkspace(
  spec: SandboxSpec,
): Record<'readOnly' | 'hidden' | 'masked' | 'kept' | 'layered', Mount[]> {
  const { pinned, readOnly, hidden, masked } = findGuarded(spec);
  const layered = findGuardedInLayers(spec);
  const isWritable = spec.workspace?.readOnly !== true;
  return {
    layered: layered.readOnly.map(({ source, target }) => bindAsNamed(source, target)),
    readOnly: [
      ...pinned.map(({ source, target }) => bind(source, target, true)),
      ...readOnly.map(({ source, target }) => bind(source, target, false)),
    ],
    hidden: [...hidden, ...layered.hidden].map(({ target, isFolder }) =>
      isFolder ? scratch(target, HIDDEN_MAX_BYTES, 0o555) : bind('/dev/null', target, false),
    ),
    masked: masked.map(({ target, mask }) =>
      mask.kind === 'folder'
        ? { kind: 'mask', target, files: mask.files }
        : { kind: 'text', target, content: mask.content },
    ),
    kept: masked.flatMap(({ kept }) => kept.map(({ source, target }) => bind(source, target, isWritable))),
  };
}

/**
 * The folders of HOME that lead to a private file, each its own mount: a folder that only contains a mount could be
 * renamed and replaced (S5).
 */
function pinnedFolders({ files, home, workspace, frozen = [] }: SandboxSpec): string[] {
  const top = canonical(home.path);
  const others = [...frozen, ...(workspace === null ? [] : [workspace.target])].map(canonical);
  const folders = new Set<string>();
  for (const { path } of files) {
    const place = canonical(path);
    if (!isInside(top, place) || others.some((other) => isInside(other, place))) continue;
    for (let folder = dirname(place); folder !== top; folder = dirname(folder)) folders.add(folder);
  }
  return [...folders];
}

function isPossible(wish: Wish, plan: readonly Mount[]): boolean {
  const { mount } = wish;
  if (mount.target === '/') return true;
  const under = nearestParent(mount.target, plan);
  // In a folder that is empty anyway there is nothing to hide.
  if (under.kind === 'scratch' || under.kind === 'mask') return wish.whenMissing === 'refuse';
  if (under.kind !== 'bind') return true;
  const place = placeUnder(under, mount.target);
  const found = findStats(place);
  if (found !== null && !found.isSymbolicLink() && found.isDirectory() === isFolderMount(mount)) return true;
  if (wish.whenMissing === 'skip') return false;
  const fault = found === null ? 'does not exist' : 'is of another kind (file, folder or link)';
  throw new SandboxSpecError(`Nothing can be mounted at ${mount.target}: ${place} ${fault}.`, {
    remedy: 'Choose a place under /home, /root, /tmp or /run, or create the mount point first.',
  });
}

/** Where on the host a path in this mount is. Both are canonical. */
function placeUnder({ source, target }: Mount & { kind: 'bind' }, path: string): string {
  const inside = target === '/' ? path : path.slice(target.length);
  return source === '/' ? inside : source + inside;
}

function nearestParent(target: string, plan: readonly Mount[]): Mount {
  let nearest: Mount | undefined;
  for (const mount of plan) {
    if (!isInside(mount.target, target)) continue;
    if (nearest === undefined || mount.target.length >= nearest.target.length) nearest = mount;
  }
  if (nearest === undefined) throw new SandboxSpecError(`The path ${target} is not absolute.`);
  return nearest;
}

/** Whether the nearest parent of this path is in memory, so that writing there touches no disk. */
export function liesInMemory(path: string, plan: readonly Mount[]): boolean {
  return nearestParent(canonical(path), plan).kind === 'scratch';
}

function isFolderMount(mount: Mount): boolean {
  if (mount.kind === 'text') return false;
  return mount.kind !== 'bind' || (findStats(mount.source)?.isDirectory() ?? false);
}

function bind(source: string, target: string, writable: boolean): Mount & { kind: 'bind' } {
  const real = findRealPath(source);
  if (real === null)
    throw new SandboxSpecError(`The path ${source} cannot be made visible at ${target}: it does not exist.`);
  return { kind: 'bind', source: real, target, writable };
}

/** Without a look at links, which verify-layers.ts refuses. */
function bindAsNamed(source: string, target: string): Mount & { kind: 'bind' } {
  return { kind: 'bind', source, target, writable: false };
}

function scratch(target: string, maxBytes: number, mode: number): Mount & { kind: 'scratch' } {
  return { kind: 'scratch', target, maxBytes, mode };
}

function depth(path: string): number {
  return path === '/' ? 0 : path.split('/').length - 1;
}
