import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createGit, createOwnGitDir, EMPTY_TREE } from '../git/index.ts';
import { forgetHidden } from './hidden-files.ts';
import { stageWorkspace } from './stage-workspace.ts';

let root: string;
let workspace: string;
let gitDir: string;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'caisson-hidden-'));
  workspace = join(root, 'files');
  gitDir = join(root, 'git');
  mkdirSync(workspace);
  await createOwnGitDir({ path: gitDir, objectFormat: 'sha1' });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (path: string, text: string): void => writeFileSync(join(workspace, path), text);
const hides = (path: string): boolean => path.endsWith('.pem');

async function stage(options: { hides?: typeof hides; remembersHidden?: boolean } = {}) {
  return await stageWorkspace({ workspace, gitDir, exclude: [], like: EMPTY_TREE.sha1, ...options });
}

async function namesIn(tree: string): Promise<string[]> {
  const git = createGit({ cwd: gitDir, gitDir });
  return (await git.text(['ls-tree', '-r', '--name-only', tree])).split('\n');
}

function objects(): string {
  const args = ['--git-dir', gitDir, 'cat-file', '--batch-all-objects', '--batch'];
  return execFileSync('git', args, { encoding: 'latin1' });
}

describe('files that rules hide', () => {
  it('are not read by the stage that hides them, nor by a later one, whatever their names are', async () => {
    write('a.pem', 'HIDDEN');
    writeFileSync(Buffer.from(`${workspace}/odd-\xff.pem`, 'latin1'), 'HIDDEN');
    mkdirSync(join(workspace, 'inner'));
    execFileSync('git', ['init', '-q'], { cwd: join(workspace, 'inner') });
    write('inner/b.pem', 'HIDDEN');
    write('inner/shown', 'x');

    const first = await stage({ hides, remembersHidden: true });
    write('new', 'x');
    const later = await stage();

    expect(first.hidden?.toSorted()).toEqual(['"odd-\\377.pem"', 'a.pem', 'inner/b.pem']);
    expect(await namesIn(first.tree)).toEqual(['inner/shown']);
    expect(await namesIn(later.tree)).toEqual(['inner/shown', 'new']);
    expect(objects()).not.toContain('HIDDEN');
  });

  it('are reported by each stage that was not told to remember them, also if nothing has changed since', async () => {
    write('a.pem', 'HIDDEN');
    await stage({ hides, remembersHidden: true });
    write('b.pem', 'HIDDEN');

    expect((await stage({ hides })).hidden).toEqual(['b.pem']);
    expect((await stage({ hides })).hidden).toEqual(['b.pem']);
  });

  it('stay as the index has them, and one in conflict leaves it', async () => {
    write('a.pem', 'committed');
    write('b.pem', 'committed');
    await stage();
    const git = createGit({ cwd: workspace, gitDir, workTree: workspace });
    const id = (await git.text(['ls-files', '-s', 'b.pem'])).split(' ')[1] ?? '';
    const stages = [1, 2, 3].map((number) => `100644 ${id} ${number}\tb.pem\n`).join('');
    await git.run(['update-index', '--index-info'], { stdin: `0 ${'0'.repeat(40)}\tb.pem\n${stages}` });
    for (const name of ['a.pem', 'b.pem']) write(name, 'HIDDEN');

    const { tree } = await stage({ hides });

    expect(await namesIn(tree)).toEqual(['a.pem']);
    expect(objects()).not.toContain('HIDDEN');
  });

  it('are work where the workspace never had them', async () => {
    write('a.pem', 'HIDDEN');
    await stage({ hides, remembersHidden: true });
    await forgetHidden(gitDir);
    write('a.pem', 'made by the agent');

    expect(await namesIn((await stage()).tree)).toEqual(['a.pem']);
  });
});
