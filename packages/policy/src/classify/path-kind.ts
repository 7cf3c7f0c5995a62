/** The kind of a path for policy. Only the text is judged; no file system is read. */
import { isControlFile, isMailboxFile } from './control-files.ts';
import type { ShellScope } from './shell-scope.ts';
import { isUnknown, UNKNOWN } from './unknown-text.ts';

export type PathKind =
  | 'root' // the file system, or everything in it
  | 'home' // a whole home folder
  | 'system' // belongs to the machine, not to a person or project
  | 'device' // a disk or memory device
  | 'sink' // /dev/null and the like: writing there changes nothing
  | 'control' // steers a tool outside the run: hooks, agent settings, shell start-up files
  | 'git-dir' // a repository's own data
  | 'mailbox' // what an agent leaves for the host
  | 'temp'
  | 'regenerable' // a build or cache folder that a tool makes again
  | 'workspace' // the current folder or the workspace as a whole
  | 'outside' // reached by climbing up
  | 'unknown'
  | 'plain';

const SYSTEM =
  /^\/(etc|usr|bin|sbin|lib|lib32|lib64|boot|sys|proc|opt|var|root|srv|snap|System|Library|Applications|private\/etc|private\/var|Windows|mnt\/c\/Windows|run|dev)(\/|$)/;
const SINK = /^\/dev\/(null|stdout|stderr|stdin|tty\w*|fd\/.*|full)$|^\/proc\/self\/fd\/\d+$/;
const DEVICE =
  /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|dm-|md|loop|mapper|mem|kmem|port|nbd|sr|zd|ram|kmsg|block)/;
const TEMP = /^(\/tmp|\/var\/tmp|\/private\/tmp|\/dev\/shm|\/var\/folders)\/./;
const HOME = /^(\/home\/[^/]+|\/Users\/[^/]+|\/root|~[\w-]*)$/;
const REGENERABLE =
  /^(dist|build|out|node_modules|\.next|\.nuxt|\.output|\.svelte-kit|\.turbo|\.cache|\.parcel-cache|coverage|\.nyc_output|target|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.tox|\.nox|\.eggs|[\w.*-]*\.egg-info|\.?venv|tmp|temp|\.tmp|\.gradle|_build|Pods|DerivedData|\.angular|\.vite|\.astro|\.docusaurus|storybook-static|htmlcov|\.terraform|test-results|playwright-report|cmake-build-[\w*-]+|CMakeFiles|\.dart_tool|\.vercel|\.serverless|elm-stuff|\.?zig-cache|zig-out|lib-cov|dist-[\w*-]+|coverage-[\w-]+|prebuilds|\.eslintcache|obj|\.sass-cache|\.jest-cache|\.rollup\.cache|bazel-[\w*-]+|\.hypothesis|\.coverage|\.ipynb_checkpoints|.*\.tsbuildinfo|.*\.pyc|.*\.pyo|.*\.o|.*\.class|(?:npm|pnpm|yarn|lerna)-(?:debug|error)\.log\*?|.*\.(?:aux|bbl|blg|toc|lof|lot|fls|fdb_latexmk|synctex\.gz|nav|snm|vrb|bcf|run\.xml)|vgcore\.[\d*]+|cache|artifacts|typechain-types|builddir|build-(?:release|debug|arm64|x86\w*|linux|macos|win\w*|[at]san|wasm|tests?|dir|out|\d+)|.*\.tmp|\.DS_Store|.*\.(?:obj|gcda|gcno|whl|egg|hi|orig|rej|swp|swo|prof|heapsnapshot|cpuprofile)|[^~/\s]+~|a\.out|nohup\.out|cover(?:age)?\.(?:out|xml)|lcov\.info|CMakeCache\.txt|autom4te\.cache|_site|\.jekyll-cache|wheelhouse|\.expo|\.swc|\.webpack|\.stryker-tmp|\.nx|\.wrangler|\.aws-sam|cdk\.out|\.build|\.stack-work|dist-newstyle|\.cpcache|\.bloop|\.metals|\.bsp|\.scala-build|\.ccls-cache|\.pytype|\.pyre|\.pnpm-store|\.phpunit\.result\.cache|\.phpunit\.cache|\.stylelintcache|\.php-cs-fixer\.cache|\.vitest|\.elixir_ls|\.bundle|package-lock\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|.*\.log|[\w.-]*\.pid)$/;

/** Everything in one of these was made by a tool, too. */
const MADE_FOLDER =
  /^(node_modules|dist|build|out|target|coverage|\.next|\.nuxt|\.turbo|\.gradle|\.terraform|\.tox|\.cache|__pycache__|\.?venv|tmp|_build|\.build|htmlcov|test-results)$/;

/** The kernel takes no longer ones, and patterns may take a time that grows with the square of the length. */
export const MAX_PATH = 4096;

/** The kind of one path, seen from the folder the line is in. */
export function kindOfPath(path: string, scope: ShellScope): PathKind {
  const full = normalizePath(path, scope);
  if (full === '') return 'plain';
  if (full.length > MAX_PATH) return 'unknown';
  if (SINK.test(full)) return 'sink';
  if (DEVICE.test(full)) return 'device';
  const bare = stripTrailingGlob(full);
  if (/^\/+$/.test(bare) || bare === '') return full.startsWith('/') || bare === '/' ? 'root' : 'workspace';
  if (HOME.test(bare) || bare === scope.home) return 'home';
  if (isMailboxFile(full)) return 'mailbox';
  if (isControlFile(full)) return 'control';
  if (/(^|\/)\.git(\/|$)/.test(bare)) return 'git-dir';
  // A workspace may be in a folder for temporary files; neither it nor its parents are temporary.
  if (bare === scope.workspace) return 'workspace';
  if (isInWorkspace(full, scope)) return kindInside(full.slice((scope.workspace ?? '').length + 1));
  if (TEMP.test(full)) return scope.workspace?.startsWith(`${bare}/`) === true ? 'workspace' : 'temp';
  if (SYSTEM.test(full) || /^\/(home|Users)$/.test(bare)) return 'system';
  // However many steps up: nothing of a project is called like this.
  if (/^(\.\.\/)+(etc|boot|proc|sys|root)\//.test(full)) return 'system';
  if (full.startsWith('..')) return 'outside';
  if (full.startsWith('/') || full.startsWith('~')) return isUnknown(full) ? 'unknown' : 'plain';
  return kindInside(full);
}

function kindInside(path: string): PathKind {
  const bare = stripTrailingGlob(path);
  if (bare === '' || bare === '.') return 'workspace';
  if (isUnknown(bare)) return 'unknown';
  const [first = '', ...others] = bare.split('/');
  const isMade =
    /(^|\/)(vendor\/bundle|\.yarn\/(cache|unplugged)|\.yarn\/install-state\.gz)(\/|$)/.test(bare) ||
    REGENERABLE.test(others.at(-1) ?? first) ||
    (MADE_FOLDER.test(first) && REGENERABLE.test(first)) ||
    others.some((part) => MADE_FOLDER.test(part));
  return isMade ? 'regenerable' : 'plain';
}

/** Absolute, home-relative (`~/…`) or relative to the line's start; dots and slashes resolved. */
export function normalizePath(path: string, scope: ShellScope): string {
  let text = path.replace(/^file:\/\//, '');
  if (scope.home !== undefined && (text === scope.home || text.startsWith(`${scope.home}/`))) {
    text = `~${text.slice(scope.home.length)}`;
  }
  const isAnchored = text.startsWith('/') || text.startsWith('~') || text.startsWith(UNKNOWN);
  if (!isAnchored && scope.cwd !== '') text = `${scope.cwd}/${text}`;
  let leading = text.startsWith('/') ? '/' : '';
  const kept: string[] = [];
  for (const part of text.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && kept.length === 1 && /^~/.test(kept[0] ?? '')) {
      // Above a home is the folder of homes.
      leading = '/';
      kept.splice(0, 1, 'home');
    } else if (part === '..' && kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else if (part === '..' && leading === '/') continue;
    else kept.push(part);
  }
  const joined = leading + kept.join('/');
  return joined === '' ? '.' : joined;
}

/** `dist/*`, `dist/**` and `dist/.[!.]*` are about everything in dist. */
function stripTrailingGlob(path: string): string {
  const stripped = path.replace(
    /(^|\/)(\*{1,2}|\.\*|\.\[[^\]]*\]\*|\.\?\*|\{\*,\.\*\}|\?\*)(?:\/\*{1,2})*$/,
    '$1',
  );
  if (stripped === path) return path;
  if (stripped === '/' || stripped === '') return stripped;
  return stripped.replace(/\/$/, '');
}

function isInWorkspace(path: string, scope: ShellScope): boolean {
  return scope.workspace !== undefined && path.startsWith(`${scope.workspace}/`);
}
