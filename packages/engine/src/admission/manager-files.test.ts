import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'smol-toml';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { managerFiles } from './manager-files.ts';

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'manager-files-')));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
});

/** What a run sees of the user's settings of mise; null if it sees no file. */
async function shownOf(toml: string): Promise<unknown> {
  const file = join(home, '.config/mise/config.toml');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, toml);
  const files = await managerFiles({
    home,
    path: `/usr/bin:${home}/.local/share/mise/shims`,
    projectRoot: join(home, 'project'),
  });
  expect(JSON.stringify(files)).not.toContain('of-the-user');
  return files.length === 0 ? null : files.map(({ path, content }) => [path === file, parse(content)]);
}

const TOOLS = [[true, { tools: { node: '22' } }]];

test.each([
  ['indented', '[tools]\nnode = "22"\n  [env]\n  TOKEN = "of-the-user"\n'],
  ['quoted', '[tools]\nnode = "22"\n["env"]\nTOKEN = "of-the-user"\n'],
  ['quoted with an escape', '[tools]\nnode = "22"\n["\\u0065nv"]\nTOKEN = "of-the-user"\n'],
  ['spaced', '[ tools ]\nnode = "22"\n[ env ]\nTOKEN = "of-the-user"\n'],
  ['an array of tables', '[tools]\nnode = "22"\n[[env]]\nTOKEN = "of-the-user"\n'],
  ['a dotted key', 'env.TOKEN = "of-the-user"\ntools.node = "22"\n'],
  ['an inline table', 'env = { TOKEN = "of-the-user" }\ntools = { node = "22" }\n'],
  ['a text of many lines', 'note = """\n[tools]\nTOKEN = "of-the-user"\n"""\n[tools]\nnode = "22"\n'],
  ['a list of many lines', '[tools]\nnode = "22"\n[env]\nall = [\n"of-the-user",\n[\n"of-the-user"]]\n'],
])('variables stay out where their table is %s', async (_how, toml) => {
  expect(await shownOf(toml)).toEqual(TOOLS);
});

test('of a tool its version and its place are shown, and no variable, script or address with a password', async () => {
  const toml = `[tools]
node = ["22", "20"]
python = { version = "3.12", postinstall = "echo of-the-user", install_env = { TOKEN = "of-the-user" } }
java = { postinstall = "of-the-user" }
"ubi:a/b" = { version = "1", exe = "b" }
"http:x" = "https://me:of-the-user@example.com/x"
[alias.node.versions]
mine = "20"
[settings]
experimental = true
idiomatic_version_file_enable_tools = ["node"]
github.token = "of-the-user"
`;
  expect(await shownOf(toml)).toEqual([
    [
      true,
      {
        tools: { node: ['22', '20'], python: { version: '3.12' }, 'ubi:a/b': { version: '1', exe: 'b' } },
        alias: { node: { versions: { mine: '20' } } },
        settings: { experimental: true, idiomatic_version_file_enable_tools: ['node'] },
      },
    ],
  ]);
});

test('a file that cannot be read as TOML is not shown at all', async () => {
  expect(await shownOf('[tools]\nnode = "22"\n[env\nTOKEN = "of-the-user"\n')).toBeNull();
});

test.each([
  ['a folder of the user', 'dot/versions', true],
  ['the repository', 'project/versions', false],
  ['a link of the repository', 'project/link', false],
  ['a log-in', '.ssh/id_rsa', false],
])('a settings file that is a link to %s', async (_where, target, isShown) => {
  for (const folder of ['dot', 'project/.git', '.ssh']) mkdirSync(join(home, folder), { recursive: true });
  for (const file of ['dot/versions', 'project/versions', '.ssh/id_rsa'])
    writeFileSync(join(home, file), 'node 22\n');
  symlinkSync('../dot/versions', join(home, 'project/link'));
  symlinkSync(target, join(home, '.tool-versions'));
  const files = await managerFiles({
    home,
    path: join(home, '.asdf/shims'),
    projectRoot: join(home, 'project'),
  });
  expect(files.length === 1).toBe(isShown);
});
