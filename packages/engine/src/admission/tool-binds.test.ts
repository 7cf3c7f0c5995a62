import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { DispatchSettings, FoundRuntime } from './rooms.ts';
import { programFolders, toolBinds } from './tool-binds.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'tool-binds-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
});

function program(path: string, content = '\u007fELF'): string {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
  chmodSync(join(root, path), 0o755);
  return join(root, path);
}

function link(path: string, to: string): string {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(to, join(root, path));
  return join(root, path);
}

const foldersOf = (bin: string): string[] =>
  programFolders(bin).flatMap((path) => (path.startsWith(root) ? [path.slice(root.length + 1)] : []));

test('a program in a linked folder is visible under both names', () => {
  program('real/codex');
  link('link', 'real');
  expect(foldersOf(join(root, 'link/codex'))).toEqual(['link', 'real']);
});

test('a version manager that links to its current version, and to that from a bin folder', () => {
  program('.nvm/versions/v24/lib/node_modules/@openai/codex/bin/codex.js', '#!/usr/bin/env node\n');
  link('.nvm/versions/v24/bin/codex', '../lib/node_modules/@openai/codex/bin/codex.js');
  link('.nvm/current', 'versions/v24');
  link('bin/codex', join(root, '.nvm/current/bin/codex'));
  expect(foldersOf(join(root, 'bin/codex'))).toEqual([
    'bin',
    '.nvm/current/bin',
    '.nvm/versions/v24/lib/node_modules',
  ]);
});

test('a shim that is selected by its name keeps its name', () => {
  program('.volta/shims/volta-shim');
  link('.volta/bin/codex', '../shims/volta-shim');
  expect(foldersOf(join(root, '.volta/bin/codex'))).toEqual(['.volta/bin', '.volta/shims']);
});

test('the interpreter that a script names comes along, wherever its links lead to', async () => {
  program('cellar/node/24/bin/node');
  link('opt/node', '../cellar/node/24');
  program('tools/agent', `#!${root}/opt/node/bin/node --flag\n`);
  expect(foldersOf(join(root, 'tools/agent'))).toEqual(['tools', 'opt/node/bin', 'cellar/node/24/bin']);
});

async function shownWith(
  home: string,
  projectRoot: string,
  path: readonly string[],
  bin = '/usr/bin/true',
): Promise<string[]> {
  const settings = {
    home,
    projectRoot,
    path: path.join(':'),
    toolchains: [],
    hostEnv: {},
    privatePaths: () => [join(root, 'home/.local/share/caisson')],
    node: '/usr/bin/true',
    bundles: '/usr/lib',
    cwd: projectRoot,
    stateDir: join(projectRoot, '.caisson'),
  } as unknown as DispatchSettings;
  const runtime = { bin, login: false } as unknown as FoundRuntime;
  return (await toolBinds(settings, runtime, {})).map(({ source, target }) =>
    source === target ? source : `${source} on ${target}`,
  );
}

test('a link that leads to HOME, to the project or above it shows none of them', async () => {
  const home = join(root, 'home');
  const projectRoot = join(home, 'work/project');
  mkdirSync(join(projectRoot, 'bin'), { recursive: true });
  program('home/tools/codex');
  const paths = [
    link('home/to-home', '.'),
    link('home/to-project', 'work/project'),
    link('home/to-parent', 'work'),
    link('home/to-tools', 'tools'),
  ];
  expect(await shownWith(home, projectRoot, paths)).toEqual([join(home, 'to-tools')]);
});

test('links of npm and pipx in a folder of PATH show their packages, and other links only the file', async () => {
  const home = join(root, 'home');
  program('home/.npm-global/lib/node_modules/pnpm/bin/pnpm.cjs');
  link('home/.npm-global/bin/pnpm', '../lib/node_modules/pnpm/bin/pnpm.cjs');
  program('home/.local/share/pipx/venvs/black/bin/black');
  program('home/.local/share/pipx/venvs/black/pyvenv.cfg', '');
  program('home/code/mine/bin/run.sh');
  program('home/code/mine/.env');
  link('home/.local/bin/black', join(home, '.local/share/pipx/venvs/black/bin/black'));
  link('home/.local/bin/mine', join(home, 'code/mine/bin/run.sh'));
  link('home/.local/bin/gone', 'nowhere');
  const folders = ['.npm-global/bin', '.local/bin'].map((path) => join(home, path));
  expect(await shownWith(home, join(home, 'project'), folders)).toEqual([
    ...folders,
    join(home, '.npm-global/lib/node_modules'),
    join(home, '.local/share/pipx/venvs/black'),
    join(home, 'code/mine/bin/run.sh'),
  ]);
});

test('a tool of uv or pipx shows the Python that a version manager installed for it, and no other folder', async () => {
  const home = join(root, 'home');
  const pythons = { ruff: '.local/share/uv/python/cpython-3.12/bin', black: '.local/bin' };
  for (const [tool, python] of Object.entries(pythons)) {
    program(`home/${python}/python3`);
    program(`home/tools/${tool}/bin/${tool}`);
    program(`home/tools/${tool}/pyvenv.cfg`, `home = ${join(home, python)}\nuv = 0.8.0\n`);
    link(`home/bin/${tool}`, join(home, 'tools', tool, 'bin', tool));
  }
  expect((await shownWith(home, join(home, 'project'), [join(home, 'bin')])).toSorted()).toEqual(
    ['.local/share/uv/python/cpython-3.12', 'bin', 'tools/black', 'tools/ruff'].map((path) =>
      join(home, path),
    ),
  );
});

test('the settings with keys of Homebrew and conda are covered', async () => {
  const home = join(root, 'home');
  for (const path of ['.linuxbrew/bin/x', '.linuxbrew/etc/my.cnf', 'miniconda3/bin/y', 'miniconda3/.condarc'])
    program(`home/${path}`);
  const file = program('home/a-file');
  const folders = ['.linuxbrew/bin', 'miniconda3/bin', '.linuxbrew', 'miniconda3'].map((path) =>
    join(home, path),
  );
  const shown = await shownWith(home, join(home, 'project'), [...folders.slice(0, 2), file]);
  expect(shown).toEqual([
    ...folders.slice(0, 2),
    file,
    ...folders.slice(2),
    `/dev/null on ${home}/.linuxbrew/etc/my.cnf`,
    `/dev/null on ${home}/miniconda3/.condarc`,
  ]);
});

/** A home with a key in `.ssh`, a program folder in PATH, and a repository. */
function createRepository(): { home: string; project: string; inPath: string[] } {
  program('home/.ssh/id_rsa');
  mkdirSync(join(root, 'home/proj/.git'), { recursive: true });
  mkdirSync(join(root, 'home/.local/bin'), { recursive: true });
  const home = join(root, 'home');
  return { home, project: join(home, 'proj'), inPath: [join(home, '.local/bin')] };
}

test('a pyvenv.cfg of the repository shows nothing, however it spells a path', async () => {
  const { home, project, inPath } = createRepository();
  link('home/.local/bin/tool', program('home/proj/bin/tool'));
  link('home/proj/uv/python/k', '../../../.ssh');
  program('home/proj/pyvenv.cfg', `home = ${home}/.local/../proj/uv/python/k/bin\n`);
  expect(await shownWith(home, project, inPath)).toEqual(inPath);
});

test('a virtual environment shows a Python only where its links end in the folder of a version manager', async () => {
  const { home, project, inPath } = createRepository();
  const pythons = '.local/share/uv/python';
  program(`home/${pythons}/cpython-3.12.4/bin/python3`);
  link(`home/${pythons}/cpython-3.12`, 'cpython-3.12.4');
  link(`home/${pythons}/elsewhere`, '../../../../.ssh');
  link(`home/${pythons}/documents`, program('home/documents/letter').replace(/\/letter$/, ''));
  const named = {
    good: `${home}/${pythons}/cpython-3.12/bin`,
    key: `${home}/${pythons}/elsewhere/bin`,
    letters: `${home}/${pythons}/documents/bin`,
    dots: `${home}/${pythons}/../../../../.ssh/bin`,
    unknown: `${home}/code/uv/python/mine/bin`,
  };
  program('home/code/uv/python/mine/bin/python3');
  for (const [tool, python] of Object.entries(named)) {
    link(`home/.local/bin/${tool}`, program(`home/tools/${tool}/bin/${tool}`));
    program(`home/tools/${tool}/pyvenv.cfg`, `home = ${python}\n`);
  }
  expect((await shownWith(home, project, inPath)).toSorted()).toEqual(
    [
      ...inPath,
      ...[`${home}/${pythons}/cpython-3.12`, `${home}/${pythons}/cpython-3.12.4`],
      ...Object.keys(named).map((tool) => join(home, 'tools', tool)),
    ].toSorted(),
  );
});

test('a pyvenv.cfg at the top of any repository shows the program alone', async () => {
  const { home, project, inPath } = createRepository();
  const tool = program('home/other/bin/tool');
  link('home/.local/bin/tool', tool);
  program('home/other/pyvenv.cfg', '');
  mkdirSync(join(home, 'other/.git'));
  expect(await shownWith(home, project, inPath)).toEqual([...inPath, tool]);
});

test('no folder with a log-in is shown as the virtual environment of a program', async () => {
  const { home, project, inPath } = createRepository();
  const tool = program('home/.local/lib/tool');
  program('home/.local/share/keyrings/login.keyring');
  program('home/.local/pyvenv.cfg', '');
  link('home/.local/bin/tool', tool);
  expect(await shownWith(home, project, inPath)).toEqual(inPath);
});

test('links of the repository lead to nothing in HOME, also above a project in a subfolder', async () => {
  const { home, project } = createRepository();
  mkdirSync(join(project, 'pkg/app'), { recursive: true });
  program('home/documents/letter');
  program('home/proj/tools/own');
  const inPath = [
    link('home/proj/to-documents', '../documents'),
    link('home/proj/to-keys', '../.ssh'),
    link('home/through', 'proj/to-documents'),
    join(project, 'tools'),
    program('home/proj/.cargo/bin/x').replace(/\/x$/, ''),
  ];
  link('home/proj/.rustup', '../documents');
  expect(await shownWith(home, join(project, 'pkg/app'), inPath)).toEqual([]);
});

test('a program of another worktree is visible, and what its links and its first line name is not', async () => {
  const { home, project } = createRepository();
  mkdirSync(join(project, '.git/worktrees/w'), { recursive: true });
  writeFileSync(join(project, '.git/worktrees/w/commondir'), '../..\n');
  program('home/w/.git', `gitdir: ${project}/.git/worktrees/w\n`);
  const tools = program('home/proj/tools/own').replace(/\/own$/, '');
  link('home/proj/tools/letter', program('home/documents/letter'));
  link('home/proj/away', '../documents');
  expect(await shownWith(home, join(home, 'w'), [tools, join(project, 'away')])).toEqual([tools]);
});

test('an agent that lies in the repository brings neither its interpreter nor the target of its link', async () => {
  const { home, project } = createRepository();
  const script = program('home/proj/node_modules/.bin/codex', `#!${home}/.ssh/id_rsa\n`);
  const linked = link('home/proj/node_modules/.bin/claude', program('home/documents/letter'));
  for (const bin of [script, linked]) expect(await shownWith(home, project, [], bin)).toEqual([]);
});

test('a folder of log-ins is no folder of programs, whatever PATH or a link names', async () => {
  const { home, project } = createRepository();
  program('home/.aws/bin/x');
  const inPath = [join(home, '.aws/bin'), link('home/keys', '.ssh')];
  expect(await shownWith(home, project, inPath)).toEqual([]);
});

test('PATH is searched once for tasks that come together; what a task names is not remembered', async () => {
  const home = join(root, 'home');
  const projectRoot = join(home, 'work/project');
  mkdirSync(projectRoot, { recursive: true });
  mkdirSync(join(home, 'late'));
  const [bin, path] = [program('home/tools/codex'), [link('home/bin', 'tools')]];
  expect(await shownWith(home, projectRoot, path)).toEqual([join(home, 'bin')]);
  rmSync(join(home, 'bin'));
  link('home/bin', 'late');
  expect(await shownWith(home, projectRoot, path)).toEqual([join(home, 'bin')]);
  expect(await shownWith(home, projectRoot, path, bin)).toEqual([join(home, 'bin'), join(home, 'tools')]);
});
