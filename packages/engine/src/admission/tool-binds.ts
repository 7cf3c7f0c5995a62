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
} from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { shareTurn, unlessErrno } from '@caisson/ground';
import type { Bind } from '@caisson/protocol';
import type { DispatchRequest } from './contract.ts';
import { behindLinks, filterInTurns, packageFolder } from './linked-tools.ts';
import type { DispatchSettings, FoundRuntime } from './rooms.ts';
import { createShortMemory } from '../platform/index.ts';
import { findToolPlaces, type ToolPlaces } from './tool-places.ts';

export async function toolBinds(
  settings: DispatchSettings,
  runtime: Pick<FoundRuntime, 'bin'>,
  request: Pick<DispatchRequest, 'argv'>,
): Promise<Bind[]> {
  const { path, home, projectRoot, hostEnv, userState } = settings;
  const key = JSON.stringify([path, home, projectRoot, hostEnv, userState]);
  const { places, visible, shims, linked } = await recallPath(key, () => searchPath(settings));
  const named = [
    ...settings.toolchains.map((folder) => expandHome(folder, settings.home)),
    ...(request.argv ?? [])
      .map((word) => resolve(settings.cwd, word))
      .filter((path) => !path.startsWith(settings.stateDir)),
  ];
  const shown = [
    ...visible,
    ...shims,
    ...linked,
    ...programFolders(runtime.bin, places.isOfRepository).filter(places.isVisible),
    ...[...programFolders(settings.node), settings.bundles].filter(places.isVisibleAsOwn),
    ...(await filterInTurns(named, places.isVisibleAsNamed)),
  ];
  const paths = [...new Set(shown)];
  await shareTurn();
  return [
    ...paths.map((path) => ({ source: path, target: path, writable: false })),
    ...paths.flatMap(listSettings).map((path) => ({ source: '/dev/null', target: path, writable: false })),
  ];
}

interface SearchedPath {
  readonly places: ToolPlaces;
  readonly visible: readonly string[];
  readonly shims: readonly string[];
  readonly linked: readonly string[];
}

/** Hundreds of calls to the file system, the same for every task. */
const recallPath = createShortMemory<Promise<SearchedPath>>();

async function searchPath(settings: DispatchSettings): Promise<SearchedPath> {
  await shareTurn();
  const places = findToolPlaces(settings);
  await shareTurn();
  const inPath = settings.path.split(':').filter(isAbsolute);
  const ofUser = inPath.filter((folder) => !places.isOfRepository(folder));
  const visible = await filterInTurns(inPath, places.isVisible);
  const linked: string[] = [];
  for (const folder of visible.filter((each) => ofUser.includes(each)))
    linked.push(...(await behindLinks(folder, places)));
  const shims = await filterInTurns(ofUser.flatMap(behindShims), places.isVisibleWhole);
  return { places, visible, shims, linked };
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

const MAX_LINKS = 40;
const MAX_SHEBANG_BYTES = 1024;

/**
 * Every folder on the way to a started program: version managers link from link to link, and a script names its
 * interpreter. A program needs its package: the outermost node_modules, else its own folder. What a file or a link of the
 * repository names does not count.
 */
export function programFolders(bin: string, isOfRepository = (_path: string): boolean => false): string[] {
  if (!isAbsolute(bin) || !existsSync(bin)) return [];
  const hops = followToEnd(bin);
  const first = hops.findIndex(isOfRepository);
  if (first !== -1) return [...new Set(hops.slice(0, first + 1).map(packageFolder))];
  const interpreter = findInterpreter(realpathSync.native(bin));
  const all = [...hops, ...(interpreter === null ? [] : followToEnd(interpreter))];
  return [...new Set(all.map(packageFolder))];
}

const followToEnd = (path: string): string[] => [...followLinks(path), realpathSync.native(path)];

/** The path, and the target of each link in its last place, as written. */
function followLinks(path: string): string[] {
  const hops = [path];
  for (let at = path; hops.length < MAX_LINKS && lstatSync(at).isSymbolicLink(); hops.push(at))
    at = resolve(realpathSync.native(dirname(at)), readlinkSync(at));
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

function expandHome(path: string, home: string): string {
  return path === '~' ? home : path.startsWith('~/') ? join(home, path.slice(2)) : path;
}
