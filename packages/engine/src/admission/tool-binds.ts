/**
 * The parts of the replaced folders (HOME, /tmp and the like) that must stay readable for the run: programs in PATH,
 * declared toolchains, the agent's own program, and files of the command line.
 */
import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { listReplacedFolders, readSmallFileSync, unlessErrno } from '@caisson/ground';
import type { Bind } from '@caisson/protocol';
import type { DispatchRequest } from './contract.ts';
import type { DispatchSettings, FoundRuntime } from './rooms.ts';

export function toolBinds(
  settings: DispatchSettings,
  runtime: FoundRuntime,
  request: DispatchRequest,
): Bind[] {
  const replaced = [...listReplacedFolders(), settings.home];
  const isReplaced = (path: string): boolean =>
    replaced.some((folder) => path === folder || path.startsWith(`${folder}/`));
  const isInProject = (path: string): boolean =>
    path === settings.projectRoot || path.startsWith(`${settings.projectRoot}/`);
  const hidden = settings.privatePaths();
  const isPrivate = (path: string): boolean =>
    hidden.some((place) => path === place || path.startsWith(`${place}/`));
  const isAllowed = (path: string): boolean =>
    !replaced.includes(path) &&
    !isInProject(path) &&
    !isPrivate(path) &&
    !isParentOfProject(path, settings.projectRoot);
  /** By its name and by the targets of its links: a link to HOME is HOME. */
  const isVisibleTool = (path: string): boolean => {
    if (!existsSync(path)) return false;
    const real = realpathSync(path);
    return (isReplaced(path) || isReplaced(real)) && isAllowed(path) && isAllowed(real);
  };
  const inPath = settings.path.split(':').filter(isAbsolute);
  const wanted = [
    ...inPath,
    ...inPath.flatMap(behindShims),
    ...inPath.filter(isVisibleTool).flatMap(behindLinks),
    ...settings.toolchains.map((folder) => expandHome(folder, settings.home)),
    ...programFolders(runtime.bin),
    ...programFolders(settings.node),
    settings.bundles,
    ...(request.argv ?? [])
      .map((word) => resolve(settings.cwd, word))
      .filter((path) => !path.startsWith(settings.stateDir)),
  ];
  const shown = [...new Set(wanted)].filter(isVisibleTool);
  return [
    ...shown.map((path) => ({ source: path, target: path, writable: false })),
    ...shown.flatMap(listSettings).map((path) => ({ source: '/dev/null', target: path, writable: false })),
  ];
}

/** Files in which Homebrew and conda keep passwords and tokens. */
function listSettings(folder: string): string[] {
  const etc = join(folder, 'etc');
  const names = unlessErrno(() => readdirSync(etc), [], 'ENOENT', 'ENOTDIR', 'EACCES');
  return [
    join(folder, '.condarc'),
    ...names.filter((name) => name.endsWith('.cnf')).map((name) => join(etc, name)),
  ].filter((path) => existsSync(path) && lstatSync(path).isFile());
}

/**
 * Folders of version managers in PATH whose programs need more than that folder: shims ask their manager, links lead to a
 * version beside them. The first group is what must be visible. The settings in them are
 * covered (listSettings); `~/.cargo` has log-ins.
 */
const MANAGED: readonly RegExp[] = [
  /^(.*\/\.nvm\/versions\/[^/]+\/[^/]+)\/bin$/,
  /^(.*\/fnm_multishells\/[^/]+)\/bin$/,
  /^(.*\/fnm\/.*\/installation)\/bin$/,
  /^(.*\/\.volta)\/bin$/,
  /^(.*\/\.(?:py|rb|nod|go|j)env)\/(?:shims|bin)$/,
  /^(.*\/\.asdf)\/(?:shims|bin)$/,
  /^(.*\/mise)\/(?:shims|installs\/.+)$/,
  /^(.*\/\.sdkman\/candidates)\/.+\/bin$/,
  /^(.*\/\.?(?:linuxbrew|homebrew))\/s?bin$/,
  /^(.*\/(?:miniconda|anaconda|miniforge|mambaforge)\d*)\/(?:bin|condabin)$/,
];

function behindShims(folder: string): string[] {
  const rustup = /^(.*)\/\.cargo\/bin$/.exec(folder);
  if (rustup !== null) return [join(rustup[1] ?? '', '.rustup')];
  const roots = MANAGED.flatMap((form) => form.exec(folder)?.[1] ?? []);
  return existsSync(folder) ? roots : [];
}

/**
 * What links in a folder of PATH lead to: `npm -g` and pipx put links into one, to packages elsewhere under HOME. A package
 * is shown whole, anything else alone: its folder may be a project of the user.
 */
function behindLinks(folder: string): string[] {
  const entries = unlessErrno(
    () => readdirSync(folder, { withFileTypes: true }),
    [],
    ...(['ENOENT', 'ENOTDIR', 'EACCES'] as const),
  );
  const targets = entries
    .filter((entry) => entry.isSymbolicLink())
    .map(({ name }) => join(folder, name))
    .filter(isProgram)
    .flatMap((path) => installedParts(realpathSync(path)));
  return [...new Set(targets)].slice(0, MAX_LINKED);
}

function isProgram(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true && (stats.mode & 0o111) !== 0;
}

function installedParts(program: string): string[] {
  if (program.split(sep).includes('node_modules')) return [packageFolder(program)];
  const prefix = dirname(dirname(program));
  const python = readSmallFileSync(join(prefix, 'pyvenv.cfg'), MAX_CFG_BYTES)?.text;
  return python === undefined ? [program] : [prefix, ...(PYTHON_OF_MANAGER.exec(python)?.slice(1) ?? [])];
}

/** The Python that uv, pyenv, asdf or mise installed, and a virtual environment was made with. */
const PYTHON_OF_MANAGER =
  /^home\s*=\s*(\/.*\/(?:uv\/python|\.pyenv\/versions|installs\/python)\/[^/\n]+)\/bin\s*$/m;

/** Places that the links of one folder may show. */
const MAX_LINKED = 64;
const MAX_LINKS = 40;
const MAX_SHEBANG_BYTES = 1024;
const MAX_CFG_BYTES = 16 * 1024;

/**
 * Every folder on the way to a started program: version managers link from link to link, and a script names its
 * interpreter. A program needs its package: the outermost node_modules, else its own folder.
 */
export function programFolders(bin: string): string[] {
  if (!isAbsolute(bin) || !existsSync(bin)) return [];
  const real = realpathSync(bin);
  const interpreter = findInterpreter(real);
  const hops = [
    ...followLinks(bin),
    real,
    ...(interpreter === null ? [] : [...followLinks(interpreter), realpathSync(interpreter)]),
  ];
  return [...new Set(hops.map(packageFolder))];
}

/** The path, and the target of each link in its last place, as written. */
function followLinks(path: string): string[] {
  const hops = [path];
  for (let at = path; hops.length < MAX_LINKS && lstatSync(at).isSymbolicLink(); hops.push(at))
    at = resolve(realpathSync(dirname(at)), readlinkSync(at));
  return hops;
}

/** The path after `#!`; a name that `env` looks up is found in PATH, which is visible anyway. */
function findInterpreter(script: string): string | null {
  const head = Buffer.alloc(MAX_SHEBANG_BYTES);
  const file = openSync(script, 'r');
  try {
    const [line = ''] = head.toString('latin1', 0, readSync(file, head)).split('\n', 1);
    const named = /^#!\s*(\S+)/.exec(line)?.[1] ?? '';
    return isAbsolute(named) && existsSync(named) ? named : null;
  } finally {
    closeSync(file);
  }
}

function packageFolder(path: string): string {
  const parts = path.split(sep);
  const index = parts.indexOf('node_modules');
  return index === -1 ? dirname(path) : parts.slice(0, index + 1).join(sep);
}

/** Showing a parent of the project would show the real project beside the workspace. */
function isParentOfProject(path: string, projectRoot: string): boolean {
  return projectRoot.startsWith(path.endsWith('/') ? path : `${path}/`);
}

function expandHome(path: string, home: string): string {
  return path === '~' ? home : path.startsWith('~/') ? join(home, path.slice(2)) : path;
}
