import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findCachesOf } from './brought-caches.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'caisson-caches-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
}

const findFor = (manifests: readonly string[], folders: readonly string[] = []): readonly string[] =>
  findCachesOf({ top: '/home/ada/poet', manifests, folders }, home).caches;

const CARGO = ['.cargo/registry', '.cargo/git/checkouts', '.cargo/git/db'];
const findCargo = (): readonly string[] => findFor(['Cargo.toml']);

it.each([
  ['.cargo/git/db/a-1/FETCH_HEAD', ['.cargo/registry']],
  ['.cargo/git/checkouts/a-1/abc/.git/config', ['.cargo/registry']],
  ['.cargo/git/checkouts/a-1/abc/.git/modules/b/FETCH_HEAD', ['.cargo/registry']],
  ['.cargo/git/checkouts/a-1/sub/deps/b/.git/FETCH_HEAD', ['.cargo/registry']],
  ['.cargo/registry/index/private-1/.git/FETCH_HEAD', ['.cargo/git/checkouts', '.cargo/git/db']],
])('a password in %s keeps the repositories beside it out', (path, left) => {
  for (const cache of CARGO) mkdirSync(join(home, cache), { recursive: true });
  write('.cargo/git/checkouts/a-1/abc/.git/HEAD', 'ref: refs/heads/main');
  write('.cargo/git/checkouts/a-1/abc/.git/objects/x', '');
  write('.cargo/git/checkouts/a-1/abc/docs/config', 'see https://user@example.invalid'); // a file of the project
  write('.cargo/git/checkouts/a-1/sub/.gitmodules', '');
  write('.cargo/git/checkouts/a-1/sub/.git', '');
  expect(findCargo()).toEqual(CARGO);
  write(path, 'beef of https://user:hunter2@git.example/b.git');
  expect(findCargo()).toEqual(left);
});

it('a pyvenv.cfg that is endless, or made to be slow, costs nothing', () => {
  mkdirSync(join(home, '.local/share/uv/python'), { recursive: true });
  for (const name of ['slow', 'endless', 'real']) mkdirSync(join(home, name));
  write('slow/pyvenv.cfg', `home=a${' '.repeat(400_000)}b\n`);
  symlinkSync('/dev/zero', join(home, 'endless/pyvenv.cfg'));
  const folders = ['slow', 'endless'].map((name) => join(home, name));
  expect(findFor([], folders)).toEqual([]);
  write('real/pyvenv.cfg', `home = ${home}/.local/share/uv/python/cpython/bin  \nuv = 1\n`);
  expect(findFor([], [...folders, join(home, 'real')])).toEqual(['.local/share/uv/python']);
});

it('the environment of Poetry comes without its lock file, if there is one for this very path', () => {
  const environments = '.cache/pypoetry/virtualenvs';
  write(`${environments}/poet-AAAAAAAA-py3.11/pyvenv.cfg`, '');
  expect(findFor(['pyproject.toml'])).toEqual([]);
  // As Poetry 1.3 named it for /home/ada/poet/services/api.
  write(`${environments}/api-8QD4OmMF-py3.11/pyvenv.cfg`, '');
  expect(findFor(['pyproject.toml'])).toEqual([]);
  expect(findFor(['services/api/pyproject.toml'])).toEqual([environments]);
});

it('packages of the user come with a manifest of their language, and log-ins beside them do not', () => {
  const own = ['.local/share/gem/ruby', '.gem/ruby', '.cache/deno/npm', '.local/lib/python3.11'];
  for (const path of own) write(`${path}/x`, '');
  for (const path of ['.local/share/gem/credentials', '.gem/credentials', '.local/lib/other/x'])
    write(path, '');
  expect(findFor(['package.json'])).toEqual([]);
  expect(findFor(['Gemfile', 'web/deno.json', 'api/requirements.txt'])).toEqual(own);
});
