/**
 * Lists what may be deleted without asking: what a build, a package manager or a cache makes again, and temporary files
 * that have a name. `make clean` runs without asking; so does the same work as single commands. A name that is
 * ambiguous is not accepted here; the user is asked instead.
 */
import { kindOfPath, normalizePath } from './path-kind.ts';
import type { ShellScope } from './shell-scope.ts';
import { isUnknown, UNTRUSTED } from './unknown-text.ts';

/** Names that belong to a tool only by custom: right below sources they may be sources. */
const BY_CUSTOM = /^(build|out|target|tmp|temp|dist|coverage|obj|prebuilds|cache|artifacts)$/;
const SOURCES = /^(src|source|sources|lib|libs|internal|cmd|pkg|include|tests?|scripts)$/;
const TEMP_FOLDER = /^(?:\/private)?(?:\/tmp|\/var\/tmp)\/|^\/dev\/shm\//;
/** What others keep below /tmp while they run: sockets, agents, private folders. */
const OTHERS = /^(\.|systemd-|ssh-|tmux-|snap[.-]|caisson)/;

/** Made again, but not identical: the locked versions and the log are gone. */
const NOT_ALIKE =
  /(^|\/)(package-lock\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|(?!npm-|p?npm-|yarn-|lerna-)[^/]*\.log)$/;

/** Whether deleting this path, and what is in it, loses only what can be made again. */
export function isMadeAgain(path: string, scope: ShellScope): boolean {
  const kind = kindOfPath(path, scope);
  if (kind === 'plain' && isGenerated(normalizePath(path, scope), scope))
    return !holdsSomethingElse(normalizePath(path, scope), scope);
  if (kind !== 'temp' && kind !== 'regenerable') return false;
  const full = normalizePath(path, scope);
  if (holdsSomethingElse(full, scope)) return false;
  return kind === 'temp' ? isNamedTemporary(full) : !isBelowSources(full) && !isKept(full);
}

const PACKED = '*.tgz';

/** Made by a program on the line itself; a packer names its file after package and version. */
function isGenerated(path: string, scope: ShellScope): boolean {
  if (scope.generated.size === 0) return false;
  return (
    scope.generated.has(path) ||
    (scope.generated.has(PACKED) && /^[\w.-]+-(?:\d+\.\d+\.\d+[\w.-]*|\*)\.tgz$/.test(path))
  );
}

/** Whether such a path is a whole folder for temporary files, or contains what the line put there. */
export function isSomethingElse(path: string, scope: ShellScope): boolean {
  const full = normalizePath(path, scope);
  return holdsSomethingElse(full, scope) || (TEMP_FOLDER.test(full) && !isNamedTemporary(full));
}

/** `/tmp/app-*.log` is named; `/tmp/*`, `/tmp/$x` and `/tmp/?x` are whatever is there. */
function isNamedTemporary(path: string): boolean {
  const folder = TEMP_FOLDER.exec(path)?.[0];
  if (folder === undefined || path.includes(UNTRUSTED)) return false;
  const [first = '', ...others] = path.slice(folder.length).split('/');
  if (OTHERS.test(first) || first === '') return false;
  const hasExtension = others.length === 0 && /^\*\.[a-z]{2,6}$/.test(first);
  return (
    (isPlainName(first) || hasExtension) && others.every((part) => !isUnknown(part) || isPlainName(part))
  );
}

function isPlainName(part: string): boolean {
  return (!/[*?[{]/.test(part) && !isUnknown(part)) || /^[\w.-]{3}/.test(part);
}

/** A log or a lock inside a folder that a tool made is deleted with that folder. */
function isKept(path: string): boolean {
  return (
    NOT_ALIKE.test(path) && !/(^|\/)(node_modules|dist|build|out|target|coverage|tmp|\.cache)\//.test(path)
  );
}

function isBelowSources(path: string): boolean {
  const parts = path.split('/');
  return parts.some((part, index) => BY_CUSTOM.test(part) && SOURCES.test(parts[index - 1] ?? ''));
}

/** The line itself moved or linked something there: what is deleted is that. */
function holdsSomethingElse(path: string, scope: ShellScope): boolean {
  const fixed = path.replace(/[*?[].*$/, '').replace(/\/$/, '');
  for (const filled of scope.filled)
    if (filled.startsWith(fixed) || path.startsWith(`${filled}/`)) return true;
  return false;
}

/** Default output folders of generators of sites and books. */
const GENERATES: ReadonlyMap<string, readonly [verb: RegExp, folder: string]> = new Map([
  ['mkdocs', [/^build$/, 'site']],
  ['hugo', [/^(build)?$/, 'public']],
  ['zola', [/^build$/, 'public']],
  ['hexo', [/^(generate|g)$/, 'public']],
  ['gatsby', [/^build$/, 'public']],
  ['mdbook', [/^build$/, 'book']],
  ['honkit', [/^build$/, '_book']],
  ['gitbook', [/^build$/, '_book']],
  ['jekyll', [/^(build|b)$/, '_site']],
  ['eleventy', [/^$/, '_site']],
  ['pelican', [/^(content)?$/, 'output']],
  ['doxygen', [/^(Doxyfile)?$/, 'html']],
  ['next', [/^(build|export)$/, 'out']],
]);

/** Remembers what a generator on the line makes, so that deleting it again is no loss. */
export function rememberGenerated(name: string, args: readonly string[], scope: ShellScope): void {
  const form = GENERATES.get(name);
  if (args[0] === 'pack' && /^(npm|pnpm|yarn)$/.test(name) && !args.includes('--filename'))
    scope.generated.add(PACKED);
  if (
    form === undefined ||
    args.some((arg) => /^(-d|-o|-s|-S|--site-dir|--destination|--output|--source)/.test(arg))
  )
    return;
  const verb = args.find((arg) => !arg.startsWith('-')) ?? '';
  if (form[0].test(verb)) scope.generated.add(normalizePath(form[1], scope));
}

/** `sed -i.bak`: the line may delete the backup that it made. */
export function rememberBackups(flags: readonly string[], files: readonly string[], scope: ShellScope): void {
  const suffix = flags.map(
    (flag) => /^-(?:[nErsuz]*i|-in-place=)(\.?[\w~-]*(?:bak|orig|old|tmp|~)\w*)$/.exec(flag)?.[1],
  );
  for (const ending of suffix)
    if (ending !== undefined)
      for (const file of files.filter((name) => !isUnknown(name) && !/[*?]/.test(name)))
        scope.generated.add(normalizePath(file + ending, scope));
}

/** Remembers that the line puts its own files at a place, unless those are made again as well. */
export function rememberFilled(sources: readonly string[], target: string, scope: ShellScope): void {
  if (sources.length > 0 && sources.every((source) => isMadeAgain(source, scope))) return;
  scope.filled.add(normalizePath(target, scope));
}
