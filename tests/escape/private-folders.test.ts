/**
 * Keys, trust, the user's configuration, caches and the state of other projects are not seen from inside, wherever the
 * XDG variables put them. Everything here lies outside of HOME and /tmp, which are replaced as a whole anyway.
 */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, ROOT, type Project } from '../e2e/project.ts';

const MARK = 'NOT-FOR-AGENTS';
/** In the markers of state folders, outside of every project. */
const STATE_SECRET = '"secret":"';
const KINDS = ['CONFIG', 'DATA', 'STATE', 'CACHE'];
const isWritable = (folder: string): boolean => {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
};
const UNDER = isWritable('/opt') ? '/opt' : join(ROOT, 'node_modules');

/** A project whose XDG folders are below `xdg`, with a mark in each of them, and with a first run, which makes the key. */
async function createMarked(
  where: (base: string) => string,
): Promise<{ project: Project; base: string; xdg: string }> {
  const project = createProject({ under: UNDER });
  const base = dirname(project.root);
  const xdg = where(base);
  for (const kind of KINDS) project.env[`XDG_${kind}_HOME`] = join(xdg, kind.toLowerCase());
  for (const kind of KINDS) {
    const folder = join(xdg, kind.toLowerCase(), 'caisson');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'mark'), MARK);
  }
  expect((await project.run('--', 'true')).status).toBe('done');
  expect(existsSync(join(xdg, 'data/caisson/keys/signing-key.pem'))).toBe(true);
  const markers = join(xdg, 'state/caisson/states');
  for (const name of readdirSync(markers))
    expect(readFileSync(join(markers, name), 'utf8')).toContain(STATE_SECRET);
  return { project, base, xdg };
}

/** Everything that a run finds of the marks, of private keys and of what signs the state, in files and in the objects of its repository. */
async function search(project: Project, places: readonly string[], ...args: string[]): Promise<string[]> {
  const words = `-e ${MARK} -e 'BEGIN PRIVATE KEY' -e '${STATE_SECRET}'`;
  const script = `grep -rslI ${words} ${places.join(' ')}; git cat-file --batch-all-objects --batch 2>/dev/null | grep -aqs ${words} && echo objects; true`;
  const run = await project.run(...args, '--', 'sh', '-c', script);
  expect(run.status).toBe('done');
  const { stdout } = await project.caisson('logs', run.runId, '--stdout');
  return stdout.split('\n').filter((line) => line !== '');
}

it('folders of their own, outside of HOME', { timeout: 60_000 }, async () => {
  const { project, base } = await createMarked((folder) => join(folder, 'xdg'));
  expect(await search(project, [base])).toEqual([]);
  expect(await search(project, [base], '--workspace', 'in-place')).toEqual([]);
});

it('folders behind links, and links in them', { timeout: 60_000 }, async () => {
  const { project, base, xdg } = await createMarked((folder) => {
    mkdirSync(join(folder, 'real'));
    symlinkSync(join(folder, 'real'), join(folder, 'link'));
    return join(folder, 'link');
  });
  mkdirSync(join(base, 'vault'));
  renameSync(join(xdg, 'data/caisson/keys'), join(base, 'vault/keys'));
  symlinkSync(join(base, 'vault/keys'), join(xdg, 'data/caisson/keys'));
  renameSync(join(xdg, 'config/caisson/mark'), join(base, 'vault/mark'));
  symlinkSync(join(base, 'vault/mark'), join(xdg, 'config/caisson/mark'));
  expect(await search(project, [base])).toEqual([]);
});

it(
  'folders in the project itself: neither seen nor in an object, a patch or a checkpoint',
  { timeout: 120_000 },
  async () => {
    const { project, base, xdg } = await createMarked((folder) => join(folder, 'project/.xdg'));
    expect(await search(project, [base])).toEqual([]);
    expect(await search(project, [base], '--workspace', 'in-place')).toEqual([]);
    const trusted = '.xdg/data/caisson/keys/trusted';
    const plant = `mkdir -p ${trusted}; echo x > ${trusted}/planted.pem; echo x > .xdg/data/caisson/planted; echo work > new.txt`;
    const run = await project.run('--', 'sh', '-c', plant);
    expect((await project.caisson('diff', run.runId)).stdout).not.toContain('planted');
    const swap = `mv .xdg/data .xdg/old; mv .xdg old; ${plant}; true`;
    expect((await project.run('--workspace', 'in-place', '--', 'sh', '-c', swap)).status).toBe('done');
    expect(readdirSync(join(xdg, 'data/caisson')).toSorted()).toEqual(['keys', 'mark']);
    expect(readFileSync(join(xdg, 'data/caisson/mark'), 'utf8')).toBe(MARK);
  },
);

it('a folder that is not there yet cannot be made by what works in place', { timeout: 60_000 }, async () => {
  const project = createProject({ under: UNDER });
  for (const kind of KINDS)
    project.env[`XDG_${kind}_HOME`] = join(project.root, '.later', kind.toLowerCase());
  const folder = '.later/data/caisson/keys/trusted';
  const run = await project.run(
    '--workspace',
    'in-place',
    '--',
    'sh',
    '-c',
    `mkdir -p ${folder}; echo x > ${folder}/planted.pem; true`,
  );
  expect(run.status).toBe('done');
  expect(existsSync(join(project.root, folder, 'planted.pem'))).toBe(false);
  expect((await project.caisson('verify', run.runId)).code).toBe(0);
});

it('folders above the project, and a project that is such a folder itself', { timeout: 60_000 }, async () => {
  const above = await createMarked((folder) => join(folder, 'xdg'));
  const inner = join(above.xdg, 'data/caisson/inner');
  renameSync(above.project.root, inner);
  const there = createProject({ at: inner, env: above.project.env });
  expect(await search(there, [above.base])).toEqual([]);
  const same = await createMarked((folder) => join(folder, 'xdg'));
  same.project.env['XDG_DATA_HOME'] = dirname(same.project.root);
  renameSync(join(same.xdg, 'data/caisson/keys'), join(same.project.root, 'keys'));
  rmSync(join(same.xdg, 'data'), { recursive: true }); // no longer owned
  const renamed = join(same.base, 'caisson');
  renameSync(same.project.root, renamed);
  const own = createProject({ at: renamed, env: same.project.env });
  expect(await search(own, [same.base])).toEqual([]);
  expect(await search(own, [same.base], '--workspace', 'in-place')).toEqual([]);
});

it('the state of another project, however far away it lies', { timeout: 60_000 }, async () => {
  const { project, base } = await createMarked((folder) => join(folder, 'xdg'));
  const other = createProject({ under: UNDER, env: project.env });
  const state = join(base, 'one/two/three/state');
  expect((await other.caisson('run', '--state-dir', state, '--', 'sh', '-c', `echo ${MARK}`)).code).toBe(0);
  writeFileSync(join(state, 'mark'), MARK);
  expect(await search(project, [join(base, 'one')])).toEqual([]);
});

it(
  'a key that the command line names, and one in HOME whose parent is shown',
  { timeout: 60_000 },
  async () => {
    const project = createProject({ config: 'sandbox: { toolchains: [~/.local] }\n' });
    expect((await project.run('--', 'true')).status).toBe('done');
    const key = join(project.env['HOME'] ?? '', '.local/share/caisson/keys/signing-key.pem');
    mkdirSync(join(project.env['HOME'] ?? '', '.local/share/other'), { recursive: true });
    const run = await project.run(
      '--',
      'sh',
      '-c',
      `cat "$0"; ls ~/.local/share; ls -A ~/.local/share/caisson`,
      key,
    );
    const { stdout } = await project.caisson('logs', run.runId, '--stdout');
    expect(stdout).toBe('caisson\nother\n');
  },
);
