// What the sandbox shows of /etc and /var: a list of what programs need, nothing else.
//
// A list of what is hidden is never complete: every service keeps its keys in its own folder there, and root's uid
// could read them all. Both folders are therefore replaced, and what is on the list is added: folders are bound (a
// mount costs a start 0.1 ms), files are copied and links made, which costs almost nothing.
//
// V1  What only its owner may read is not shown: root sees what every user sees.
// V2  A link stays a link if it leads to something visible; otherwise its content is shown in its place.
import { opendirSync, readdirSync, readlinkSync, statSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { canonical, findRealPath, findStats } from './real-path.ts';

export interface SystemView {
  /** Replaced by folders in memory, read-only once everything is in them. */
  readonly roots: readonly string[];
  readonly folders: readonly string[];
  readonly files: readonly string[];
  readonly links: readonly { readonly path: string; readonly to: string }[];
}

/** A view, and when it was listed by the clock that all processes of a machine share. */
export interface ListedSystemView extends SystemView {
  readonly listedAtMs: number;
}

/** Names in /etc, by purpose. A `*` matches a version. */
const ETC = [
  // names, hosts and time
  ...['hosts', 'hostname', 'host.conf', 'resolv.conf', 'nsswitch.conf', 'gai.conf', 'networks', 'netconfig'],
  ...['services', 'protocols', 'rpc', 'localtime', 'timezone', 'machine-id', 'shells', 'login.defs', 'mtab'],
  ...['subuid', 'subgid', 'locale.conf', 'locale.alias', 'locale.gen', 'default/locale', 'environment'],
  // which system this is
  ...['os-release', 'lsb-release', '*-release', '*_version', 'dpkg', 'alternatives'],
  // the linker, shells and terminals
  ...['ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'ld.so.preload', 'ld-musl-*.path', 'inputrc', 'terminfo'],
  ...['profile', 'profile.d', 'bash.bashrc', 'bashrc', 'zsh', 'zshenv', 'zshrc', 'fish'],
  // certificates; private keys are beside these folders, not in them
  ...['ssl/certs', 'ssl/cert.pem', 'ssl/openssl.cnf', 'ssl/ct_log_list.cnf', 'ca-certificates.conf'],
  ...['pki/ca-trust', 'pki/java', 'pki/tls/certs', 'pki/tls/cert.pem', 'pki/tls/openssl.cnf'],
  'crypto-policies',
  // types of files, fonts and catalogues
  ...['mime.types', 'mailcap', 'magic', 'magic.mime', 'fonts', 'xdg', 'xml', 'texmf', 'manpath.config'],
  // languages and their tools
  ...['gitattributes', 'npmrc', 'pip.conf', 'wgetrc', 'gemrc', 'python*', 'perl', 'php'],
  ...['java', 'java-*', '.java', 'jvm', 'maven', 'gradle', 'ant', 'R', 'ruby', 'dotnet', 'mono', 'ghc'],
  ...['ImageMagick-*', 'postgresql-common'],
];

/** Lists of installed packages, which many tools read, and caches that programs only read. */
const VAR = [
  ...['run', 'lock', 'lib/dpkg', 'lib/rpm', 'lib/pacman', 'lib/apk', 'lib/alternatives', 'lib/gems'],
  ...['lib/ghc', 'lib/texmf', 'cache/fontconfig'],
];

const REPLACED = { '/etc': ETC, '/var': VAR } as const;

/** The folders that are replaced by a list of what is visible. */
export const LISTED_FOLDERS: readonly string[] = Object.keys(REPLACED);

/** What exists and may be shown. Paths have no link in them except the last part of a link. */
export function listSystemView(): SystemView {
  const roots: string[] = [];
  const folders: string[] = [];
  const files: string[] = [];
  const links: SystemView['links'][number][] = [];
  for (const [name, patterns] of Object.entries(REPLACED)) {
    if (findRealPath(name) === null) continue;
    const root = canonical(name);
    roots.push(root);
    for (const path of new Set(expand(root, patterns))) {
      const entry = lookAt(path, root);
      if (entry === null) continue;
      if (entry.kind === 'link') links.push({ path, to: entry.to });
      else if (entry.kind === 'file') files.push(path);
      else folders.push(entry.real);
      if (entry.kind === 'folder' && entry.real !== path) links.push({ path, to: entry.real });
    }
  }
  return { roots, folders, files, links };
}

/** A view that was listed in advance is used for so long, whichever process listed it. */
const VIEW_STAYS_MS = 1000;

let prepared: ListedSystemView | null = null;

/** The view as it is now, for a launch of another process. */
export function listSystemViewNow(): ListedSystemView {
  const listedAtMs = sharedClockMs();
  return { listedAtMs, ...listSystemView() };
}

/** Prepares a launch with a view that another process listed. One that is too old is as good as none. */
export function adoptSystemView(view: ListedSystemView): void {
  prepared = view;
}

/** Lists the view for a launch that comes at once, unless that was done just now. */
export function prepareSystemView(): void {
  prepared = findPrepared() ?? listSystemViewNow();
}

/** The view for one launch: the prepared one if it was listed just now. */
export function takeSystemView(): SystemView {
  const known = findPrepared();
  prepared = null;
  return known ?? listSystemView();
}

function findPrepared(): typeof prepared {
  if (prepared === null) return null;
  const ageMs = sharedClockMs() - prepared.listedAtMs;
  return ageMs >= 0 && ageMs < VIEW_STAYS_MS ? prepared : null;
}

function sharedClockMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** One listing of the folder answers for most names. */
function expand(root: string, patterns: readonly string[]): string[] {
  const names = new Set(readdirSync(root));
  return patterns.flatMap((pattern) => {
    if (!names.has(pattern.split('/', 1)[0] ?? '') && !pattern.includes('*')) return [];
    if (!pattern.includes('*')) return [join(root, pattern)];
    const form = new RegExp(`^${pattern.replaceAll('.', String.raw`\.`).replaceAll('*', '.*')}$`);
    return [...names].filter((name) => form.test(name)).map((name) => join(root, name));
  });
}

type Entry =
  | { readonly kind: 'link'; readonly to: string }
  | { readonly kind: 'file' }
  | { readonly kind: 'folder'; readonly real: string };

/** What is shown at this path; `null` for nothing. */
function lookAt(path: string, root: string): Entry | null {
  const own = findStats(path);
  if (own === null) return null;
  const said = own.isSymbolicLink() ? readlinkSync(path) : null;
  if (said !== null && isShown(resolve(dirname(path), said))) return { kind: 'link', to: said }; // V2
  const isPlain = said === null && dirname(path) === root;
  const real = isPlain ? path : findRealPath(path);
  if (real === null) return null;
  if (said !== null && isShown(real)) return { kind: 'link', to: real };
  const stats = isPlain ? own : statSync(real, { throwIfNoEntry: false });
  if (stats === undefined || !isOpen(stats)) return null; // V1
  if (stats.isFile()) return { kind: 'file' };
  const isOwn = stats.isDirectory() && real.startsWith(`${root}/`);
  return isOwn && holdsAnything(real) ? { kind: 'folder', real } : null;
}

function holdsAnything(folder: string): boolean {
  const opened = opendirSync(folder, { bufferSize: 1 });
  try {
    return opened.readSync() !== null;
  } finally {
    opened.closeSync();
  }
}

const UNSEEN = ['/etc', '/var', '/run', '/home', '/root', '/tmp'];

/** /run exists, only empty: a link to it is no worse than its target. */
function isShown(path: string): boolean {
  return path === '/run' || !UNSEEN.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

/** V1 */
function isOpen(stats: Stats): boolean {
  const needed = stats.isDirectory() ? 0o005 : 0o004;
  return (stats.mode & needed) === needed;
}
