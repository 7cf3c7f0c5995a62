import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { StepFailure } from '../attempt/step-failure.ts';
import { copyCapabilities } from './copy-capabilities.ts';

function folder(files: Record<string, string | { link: string }>): string {
  const root = mkdtempSync(join(tmpdir(), 'caisson-overlay-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    if (typeof content === 'string') writeFileSync(join(root, path), content);
    else symlinkSync(content.link, join(root, path));
  }
  return root;
}

const json = (value: unknown): string => JSON.stringify(value);

function lay(workspace: string, ...capabilities: Record<string, string | { link: string }>[]) {
  return copyCapabilities(
    workspace,
    capabilities.map((files, index) => ({ name: `cap-${index + 1}`, path: folder(files) })),
  );
}

function failureOf(work: () => unknown): { reason: string; detail: string } {
  try {
    work();
  } catch (error) {
    if (error instanceof StepFailure) return error.failure;
    throw error;
  }
  throw new Error('nothing was refused');
}

it('the last capability wins where nothing says otherwise', () => {
  const workspace = folder({ 'a.txt': 'mine' });
  lay(workspace, { 'a.txt': 'one', 'b/c.txt': 'one' }, { 'a.txt': 'two' });
  expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('two');
  expect(readFileSync(join(workspace, 'b/c.txt'), 'utf8')).toBe('one');
});

it('settings of a runtime are merged over the project and all capabilities, lists united by structure', () => {
  const workspace = folder({ '.claude/settings.json': json({ permissions: { allow: ['A'] }, model: 'x' }) });
  lay(
    workspace,
    { '.claude/settings.json': json({ permissions: { allow: ['B', 'A'], deny: [{ a: 1, b: 2 }] } }) },
    { '.claude/settings.json': json({ permissions: { deny: [{ b: 2, a: 1 }] }, model: 'y' }) },
  );
  expect(JSON.parse(readFileSync(join(workspace, '.claude/settings.json'), 'utf8'))).toEqual({
    permissions: { allow: ['A', 'B'], deny: [{ a: 1, b: 2 }] },
    model: 'y',
  });
});

it('a capability may declare how its files are merged, but not for settings of a runtime', () => {
  const workspace = folder({
    'conf/a.json': json({ list: [1, 2], deep: { x: 1 } }),
    'conf/list.json': json([1, { a: 1 }]),
    '.mcp.json': json({ mcpServers: { a: {} } }),
  });
  const rules = {
    rules: [
      { path: 'conf/list.json', strategy: 'array-union' },
      { path: 'conf/*.json', strategy: 'deep-merge', arrays: 'replace' },
      { path: '.mcp.json', strategy: 'last-write-wins' },
    ],
  };
  lay(workspace, {
    '.caisson/overlay.json': json(rules),
    'conf/a.json': json({ list: [3], deep: { y: 2 } }),
    'conf/list.json': json([{ a: 1 }, 2]),
    '.mcp.json': json({ mcpServers: { b: {} } }),
  });
  const read = (path: string): unknown => JSON.parse(readFileSync(join(workspace, path), 'utf8'));
  expect(read('conf/a.json')).toEqual({ list: [3], deep: { x: 1, y: 2 } });
  expect(read('conf/list.json')).toEqual([1, { a: 1 }, 2]);
  expect(read('.mcp.json')).toEqual({ mcpServers: { a: {}, b: {} } });
  expect(existsSync(join(workspace, '.caisson'))).toBe(false);
});

it('concat keeps what is there twice', () => {
  const workspace = folder({ 'a.json': json([1]) });
  const rules = json({ rules: [{ path: '**', strategy: 'deep-merge', arrays: 'concat' }] });
  lay(workspace, { '.caisson/overlay.json': rules, 'a.json': json([1, 2]) });
  expect(JSON.parse(readFileSync(join(workspace, 'a.json'), 'utf8'))).toEqual([1, 1, 2]);
});

it('a clash of types names the file, the place and both capabilities', () => {
  const workspace = folder({ '.mcp.json': json({ mcpServers: {} }) });
  const failure = failureOf(() =>
    lay(
      workspace,
      { '.mcp.json': json({ mcpServers: { a: { args: ['x'] } } }) },
      { '.mcp.json': json({ other: 1 }) },
      { '.mcp.json': json({ mcpServers: { a: { args: 'x' } } }) },
    ),
  );
  expect(failure).toEqual({
    reason: 'integrity-failed',
    detail:
      'overlay conflict in .mcp.json at $.mcpServers.a.args: capability "cap-1" has an array, capability "cap-3" has a string',
  });
});

it('a file where another has a folder is a conflict, in both directions', () => {
  expect(failureOf(() => lay(folder({}), { a: 'file' }, { 'a/b': 'below' })).detail).toBe(
    'overlay conflict at a: capability "cap-1" has a file there, capability "cap-2" has a folder',
  );
  expect(failureOf(() => lay(folder({}), { 'a/b': 'below' }, { a: 'file' })).detail).toBe(
    'overlay conflict at a: capability "cap-1" has a folder there, capability "cap-2" has a file',
  );
  expect(failureOf(() => lay(folder({ 'a/b': 'mine' }), { a: 'file' })).detail).toBe(
    'overlay conflict at a: the workspace has a folder there, capability "cap-1" has a file',
  );
});

it('skills of several capabilities stand side by side; one of the same name is replaced as a whole', () => {
  const workspace = folder({ '.claude/skills/mine/SKILL.md': 'mine' });
  lay(
    workspace,
    { '.claude/skills/a/SKILL.md': 'a1', '.claude/skills/a/old.md': 'old' },
    { '.claude/skills/a/SKILL.md': 'a2', '.claude/skills/b/SKILL.md': 'b' },
  );
  const read = (path: string): string => readFileSync(join(workspace, '.claude/skills', path), 'utf8');
  expect([read('mine/SKILL.md'), read('a/SKILL.md'), read('b/SKILL.md')]).toEqual(['mine', 'a2', 'b']);
  expect(existsSync(join(workspace, '.claude/skills/a/old.md'))).toBe(false);
});

it('nothing is written through a link of the workspace', () => {
  const outside = folder({});
  const workspace = folder({ docs: { link: outside } });
  expect(failureOf(() => lay(workspace, { 'docs/x.md': 'x' })).detail).toMatch(
    /the workspace has a link there/,
  );
  const linked = folder({ 'a.json': { link: join(outside, 'target.json') } });
  lay(linked, { 'a.json': 'new' });
  expect(existsSync(join(outside, 'target.json'))).toBe(false);
});

it.each([
  ['a link that leaves the bundle', { x: { link: '../../etc/passwd' } }, /leaves the bundle/],
  ['an absolute link', { x: { link: '/etc/passwd' } }, /leaves the bundle/],
  ['a backslash', { 'a\\b': 'x' }, /backslash/],
  ['the repository itself', { 'sub/.git/config': 'x' }, /change the repository/],
  ['a __proto__ member', { '.mcp.json': '{"a":{"__proto__":{"x":1}}}' }, /\$\.a\.__proto__/],
  ['settings that are not JSON', { '.mcp.json': '{' }, /not JSON/],
  ['malformed rules', { '.caisson/overlay.json': '{"rules":[{"path":"x","strategy":"best"}]}' }, /malformed/],
])('%s is refused', (_title, files, message) => {
  const failure = failureOf(() => lay(folder({}), files));
  expect(failure.reason).toBe('integrity-failed');
  expect(failure.detail).toMatch(message);
});

it('setup scripts are returned in the order of the capabilities', () => {
  const scripts = lay(
    folder({}),
    { '.caisson/setup.sh': 'echo 1' },
    { a: 'no setup' },
    { '.caisson/setup.sh': 'echo 3' },
  );
  expect(scripts.map((script) => script.capability)).toEqual(['cap-1', 'cap-3']);
});

it('no capability replaces an input of the run', () => {
  const workspace = folder({ 'inputs/data.csv': 'real' });
  const capability = { name: 'sly', path: folder({ 'inputs/data.csv': 'forged' }) };
  expect(failureOf(() => copyCapabilities(workspace, [capability], ['inputs/data.csv'])).detail).toBe(
    'overlay conflict at inputs/data.csv: an input of the run is there, capability "sly" has a file',
  );
});
