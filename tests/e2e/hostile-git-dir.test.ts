/** A folder that a user received with a `.git` in it: nothing in there writes outside the workspace or shows a file of the user. */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, type Project } from './project.ts';

const SECRET = 'a key of the user that no run may see';
const blobOf = (text: string): string =>
  createHash('sha1')
    .update(`blob ${Buffer.byteLength(text)}\0${text}`)
    .digest('hex');

/** What the git of the user has to say about an object, once a run is over. */
function hasObject(project: Project, id: string): boolean {
  try {
    project.git('cat-file', '-e', id);
    return true;
  } catch {
    return false;
  }
}

interface Entry {
  readonly path: string;
  readonly id: string;
}

/** An index of version 2, as git writes it, with paths that git itself would refuse. */
function forgeIndex(entries: readonly Entry[]): Buffer {
  const header = Buffer.from('DIRC\0\0\0\0\0\0\0\0', 'latin1');
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(entries.length, 8);
  const records = entries.map(({ path, id }) => {
    const record = Buffer.alloc(Math.floor((62 + path.length + 8) / 8) * 8);
    record.writeUInt32BE(0o100644, 24);
    record.write(id, 40, 'hex');
    record.writeUInt16BE(path.length, 60);
    record.write(path, 62, 'latin1');
    return record;
  });
  const body = Buffer.concat([header, ...records]);
  return Buffer.concat([body, createHash('sha1').update(body).digest()]);
}

it.each([
  ['above the top', '../git/commondir', '../secret.txt'],
  ['above the top by a way round', 'src/../../git/commondir', 'src/../../secret.txt'],
])('an index with paths %s is not used', { timeout: 60_000 }, async (_where, planted, read) => {
  const project = createProject();
  const mark = join(project.root, '../ran');
  project.write('src/a.txt', 'a\n');
  project.write('../secret.txt', SECRET);
  // Beside the project as our own git dir is beside the workspace: written there, git would obey the config it names.
  project.write('../git/commondir', '../../../../evil\n');
  project.write(
    'evil/config',
    `[filter "x"]\n\tclean = "touch ${mark}; cat"\n\tsmudge = "touch ${mark}; cat"\n`,
  );
  project.write('evil/HEAD', 'ref: refs/heads/main\n');
  project.write('evil/refs/keep', '');
  project.write('evil/objects/info/alternates', '../../.git/objects\n');
  project.write('.gitattributes', '* filter=x\n');
  const id = project.git('hash-object', '-w', '--no-filters', 'README.md').trim();
  const paths = [planted, read, 'README.md'].toSorted();
  project.write('.git/index', forgeIndex(paths.map((path) => ({ path, id }))));
  const run = await project.run('--', 'sh', '-c', 'git ls-files >listed.txt');
  expect([run.cli.code, run.status]).toEqual([0, 'done']);
  const listed = project.git('show', `refs/caisson/${run.runId}/1:listed.txt`).split('\n');
  expect(listed).toEqual(expect.arrayContaining(['README.md', 'src/a.txt']));
  expect(listed.filter((path) => [planted, read].includes(path))).toEqual([]);
  expect(hasObject(project, blobOf(SECRET))).toBe(false);
  expect(existsSync(mark)).toBe(false);
});

it.each(['info/exclude', 'shallow', 'packed-refs'])(
  'a link at %s is refused, and nothing of its target is said',
  { timeout: 60_000 },
  async (name) => {
    const project = createProject();
    project.write('../secret.txt', SECRET);
    rmSync(join(project.root, '.git', name), { force: true });
    symlinkSync(join(project.root, '../secret.txt'), join(project.root, '.git', name));
    const { cli } = await project.run('--', 'sh', '-c', 'cat .git/info/exclude .git/shallow');
    expect(cli.code).not.toBe(0);
    expect(cli.stdout).toContain(`.git/${name} is a link`);
    expect(cli.stdout + cli.stderr).not.toContain(SECRET);
  },
);

it.each([[''], ['[include]\n\tpath = more\n']])(
  'the ignore file that a repository names is not read (%j)',
  { timeout: 60_000 },
  async (more) => {
    const project = createProject();
    project.write('../secret.txt', SECRET);
    project.git('config', 'core.excludesFile', join(project.root, '../secret.txt'));
    appendFileSync(join(project.root, '.git/config'), more);
    const run = await project.run('--', 'sh', '-c', 'cp .git/info/exclude seen.txt');
    expect(run.status).toBe('done');
    expect(project.git('show', `refs/caisson/${run.runId}/1:seen.txt`)).not.toContain(SECRET);
  },
);
