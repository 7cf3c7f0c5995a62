/** An index that a stranger wrote. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { dropExtensions, findExtension, walkEntries } from './index-entries.ts';

const NAME_AT = 12 + 62;
const FLAGS_AT = 12 + 60;

/** The index that git writes for one file of this name, in a version. */
function indexOf(name: string, version: number): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-index-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
  git('init', '-q');
  writeFileSync(join(folder, 'file'), 'x');
  const id = git('hash-object', '-w', 'file').trim();
  git('update-index', '--index-version', String(version));
  git('update-index', '--add', '--cacheinfo', `100644,${id},${name}`);
  git('write-tree');
  return readFileSync(join(folder, '.git/index'));
}

/** The same index with another name of the same length. */
function rename(index: Buffer, from: string, to: string): Buffer {
  expect(to).toHaveLength(from.length);
  const copy = Buffer.from(index);
  copy.write(to, copy.indexOf(from), 'latin1');
  return copy;
}

function namesIn(index: Buffer): string[] {
  const names: string[] = [];
  walkEntries(index, 20, ({ path }) => names.push(path.toString()));
  return names;
}

it.each([2, 4])('a path that git would not add makes it no index (version %i)', (version) => {
  const plain = 'abcd/efgh/ijkl';
  const index = indexOf(plain, version);
  for (const kept of ['.gitx/efgh/ijk', 'abcd/..gh/ijkl', 'abcd/.gi/ijkl1', 'abcd/...h/.gik'])
    expect(namesIn(rename(index, plain, kept))).toEqual([kept]);
  const refused = ['/bcd/efgh/ijkl', '../d/efgh/ijkl', 'abcd/../h/ijkl', 'abcd/./gh/ijkl', 'abcd//fgh/ijkl'];
  for (const path of [
    ...refused,
    '.git/efgh/ijkl',
    'abcd/.GiT/ijkl',
    'abcd/efgh/.giT',
    'abcd/efghijk/.',
    'abcd/efghij/..',
  ])
    expect(() => namesIn(rename(index, plain, path)), path).toThrow(RangeError);
});

it('one that git would read in another way makes it no index', () => {
  const index = indexOf('abcd/efgh', 2);
  const shorter = Buffer.from(index);
  shorter.writeUInt16BE(4, FLAGS_AT); // git goes by this length, and finds the next entry elsewhere
  expect(() => namesIn(shorter)).toThrow(RangeError);
  const extended = Buffer.from(index);
  extended.writeUInt16BE(extended.readUInt16BE(FLAGS_AT) | 0x4000, FLAGS_AT); // git begins the name two bytes later
  expect(() => namesIn(extended)).toThrow(RangeError);
  expect(index.toString('latin1', NAME_AT, NAME_AT + 9)).toBe('abcd/efgh');
});

it('extensions but the trees are dropped', () => {
  const index = indexOf('abcd', 2);
  const offsets = Buffer.from('IEOT\0\0\0\x04\0\0\0\x01', 'latin1');
  const trailer = index.length - 20;
  const more = Buffer.concat([index.subarray(0, trailer), offsets, index.subarray(trailer)]);
  const end = walkEntries(more, 20, () => undefined);
  expect(findExtension(more, end, 20, 'IEOT')).not.toBeNull();
  expect(findExtension(more, end, 20, 'TREE')).not.toBeNull();
  expect(dropExtensions(more, 20)).toEqual(index);
});
