import { describe, expect, it } from 'vitest';
import { foldName, leavesProject } from './fold-name.ts';
import { findChangedParts, findRisk, findRiskBelow, listRiskyPaths, RISKY_PATHS } from './risky-paths.ts';

describe.each(RISKY_PATHS.map((entry) => [entry.path, entry] as const))('%s', (path, entry) => {
  const found = (name: string): string | undefined => findRisk(name)?.grade;

  it('is found at any depth, with everything below it', () => {
    for (const name of [path, `sub/${path}`, `a/b/c/${path}`, `${path}/below`, `a/${path}/b/c`])
      expect([name, found(name)]).toEqual([name, entry.grade]);
  });

  it('is found in every spelling that some file system takes for the same', () => {
    const [first = '', ...rest] = path.split('/');
    const others = [first.toUpperCase(), `${first} `, `${first}.`, `${first}::$INDEX_ALLOCATION`];
    for (const other of [...others, `${first.slice(0, 1)}\u200c${first.slice(1)}`])
      expect([other, found(`x/${[other, ...rest].join('/')}`)]).toEqual([other, entry.grade]);
    expect(found(`x\\${path.replaceAll('/', '\\')}`)).toBe(entry.grade);
  });

  it('is written in the spelling that others are compared with, and says who obeys it', () => {
    expect(path.split('/').map(foldName).join('/')).toBe(path);
    expect(entry.obeyedBy).not.toBe('');
  });

  it('is not found in names that only look like it', () => {
    expect(findRisk(`x${path}`)?.path).not.toBe(path);
    expect(findRisk(`${path}.txt`)?.path).not.toBe(path);
  });

  it('is brought in by a link that is named like its folder', () => {
    if (!path.includes('/')) return;
    expect(findRiskBelow(`sub/${path.slice(0, path.indexOf('/'))}`)).not.toBeNull();
  });
});

it('no entry is there twice, and both grades have some', () => {
  expect(new Set(RISKY_PATHS.map(({ path }) => path)).size).toBe(RISKY_PATHS.length);
  expect(listRiskyPaths('never')).toContain('.git/hooks');
  expect(listRiskyPaths('ask')).toContain('.github/workflows');
  expect(listRiskyPaths('ask')).not.toContain('package.json');
});

it.each([
  ...['README.md', 'src/index.ts', 'package-lock.json', '.gitignore', '.gitattributes', '.github/CODEOWNERS'],
  ...[
    '.github/ISSUE_TEMPLATE/bug.md',
    'src/git/config',
    'docs/hooks/use-state.md',
    '.editorconfig',
    'CLAUDE.md',
  ],
  ...['Cargo.toml', 'Makefile', 'git~x', 'digit', '.gitkeep', 'src/claude/settings.json', 'npmrc', '.env'],
])('%s is an ordinary file', (path) => {
  expect(findRisk(path)).toBeNull();
});

it.each([
  '.git ',
  '.git.',
  '.GIT',
  'git~1',
  'GIT~12',
  '.git::$INDEX_ALLOCATION',
  '.g\u200eit',
  '.gıt',
  '.ｇｉｔ',
])('%j reads as .git', (name) => expect(foldName(name)).toBe('.git'));

describe('a package.json', () => {
  const parts = findRisk('package.json')?.parts ?? [];
  const before = JSON.stringify({ version: '1.0.0', scripts: { test: 'x', postinstall: 'old' } });
  const changed = (after: unknown): string[] => findChangedParts(parts, before, JSON.stringify(after));

  it('with another version, dependency or test is an ordinary file', () => {
    const scripts = { test: 'vitest', build: 'tsc', postinstall: 'old' };
    expect(changed({ version: '2.0.0', dependencies: { a: '1' }, scripts })).toEqual([]);
    expect(changed({ version: '2.0.0' })).toEqual([]);
  });

  it.each([
    [{ scripts: { postinstall: 'new' } }, 'scripts.postinstall'],
    [{ scripts: { prepare: 'x' } }, 'scripts.prepare'],
    [{ 'simple-git-hooks': { 'pre-commit': 'x' } }, 'simple-git-hooks'],
  ])('with %j is risky', (after, part) => expect(changed(after)).toEqual([part]));

  it('that is new with an install script, hides its name in escapes, or is no JSON, is risky', () => {
    expect(findChangedParts(parts, null, '{"scripts":{"postinst\\u0061ll":"x"}}')).toEqual([
      'scripts.postinstall',
    ]);
    expect(findChangedParts(parts, before, '{ "scripts": ')).toHaveLength(1);
    expect(findChangedParts(parts, before, '[]')).toHaveLength(1);
  });
});

describe('a link', () => {
  it.each([
    ['a', '/etc/passwd'],
    ['a', '..'],
    ['a/b', '../../x'],
    ['p/q/r/a', '../../k/../..'], // `k` may be a link to the top
    ['a', '/srv/project/../other'],
    ['a', '/srv/project-other'],
  ])('at %s to %s leaves the project', (path, target) => {
    expect(leavesProject(path, target, '/srv/project')).toBe(true);
  });

  it.each([
    ['a', 'b/c'],
    ['a/b', '../c'],
    ['a/b/c', '../../x/y'],
    ['a', './b'],
    ['a', '/srv/project/b'],
    ['a', '.'],
  ])('at %s to %s stays in it', (path, target) => {
    expect(leavesProject(path, target, '/srv/project')).toBe(false);
  });
});

/** Written out, so that a row that is lost from the table, or changes its grade, is missed. */
it.each([
  ['.git', 'never'],
  ['.caisson', 'never'],
  ['caisson.yaml', 'never'],
  ['.claude/hooks', 'never'],
  ['.claude/settings.json', 'never'],
  ['.codex', 'never'],
  ['.vscode/tasks.json', 'never'],
  ['.mcp.json', 'never'],
  ['.envrc', 'never'],
  ['.husky', 'never'],
  ['.gitmodules', 'never'],
  ['.devcontainer', 'ask'],
  ['.github/workflows', 'ask'],
  ['.gitlab-ci.yml', 'ask'],
  ['.claude/commands', 'ask'],
  ['.claude/agents', 'ask'],
  ['.claude/skills', 'ask'],
  ['.pre-commit-config.yaml', 'ask'],
  ['lefthook.yml', 'ask'],
  ['.yarnrc.yml', 'ask'],
  ['.npmrc', 'ask'],
  ['.pnpmfile.cjs', 'ask'],
  ['.cargo/config.toml', 'ask'],
  ['package.json', 'ask'],
])('%s has the grade "%s"', (path, grade) => {
  expect(findRisk(path)?.grade).toBe(grade);
});
