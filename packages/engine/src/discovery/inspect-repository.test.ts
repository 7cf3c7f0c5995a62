import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { inspectRepository } from './inspect-repository.ts';

function createFolder(files: Readonly<Record<string, string>> = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'caisson-repository-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

const manifest = (more: object): string => JSON.stringify({ name: 'x', ...more });
const TEST = { scripts: { test: 'node --test' } };
const NO_TEST = { scripts: { test: 'echo "Error: no test specified" && exit 1' } };

test.each<[string, Record<string, string>, string | null, string[], string | null]>([
  ['an empty folder', {}, null, [], null],
  ['npm', { 'package.json': manifest(TEST) }, 'npm', ['JavaScript'], 'npm test'],
  ['npm without tests', { 'package.json': manifest(NO_TEST) }, 'npm', ['JavaScript'], null],
  ['yarn', { 'package.json': manifest(TEST), 'yarn.lock': '' }, 'yarn', ['JavaScript'], 'yarn test'],
  ['bun', { 'package.json': manifest(TEST), 'bun.lock': '' }, 'bun', ['JavaScript'], 'bun run test'],
  ['Rust', { 'Cargo.toml': '' }, 'cargo', ['Rust'], 'cargo test'],
  ['Go', { 'go.mod': '' }, 'go', ['Go'], 'go test ./...'],
  ['Maven', { 'pom.xml': '', mvnw: '' }, 'maven', ['Java'], './mvnw -o test'],
  ['Gradle', { 'build.gradle.kts': '' }, 'gradle', ['Java'], 'gradle --offline test'],
  ['pytest', { 'pyproject.toml': '[tool.pytest]' }, null, ['Python'], 'python3 -m pytest'],
  [
    'pytest in an environment',
    { 'uv.lock': '', 'requirements.txt': 'pytest', '.venv/bin/python': '' },
    'uv',
    ['Python'],
    '.venv/bin/python -m pytest',
  ],
  [
    'unittest',
    { 'setup.py': '', 'tests/test_a.py': '' },
    null,
    ['Python'],
    'python3 -m unittest discover tests',
  ],
  ['make', { Makefile: 'all:\n\ntest: all\n' }, null, [], 'make test'],
])('knows %s', (_what, files, packageManager, languages, tests) => {
  expect(inspectRepository(createFolder(files))).toMatchObject({ packageManager, languages, tests });
});

test('the packages of a monorepo are counted, with their languages and tests', () => {
  const packages = {
    'packages/a/package.json': manifest(TEST),
    'packages/a/tsconfig.json': '{}',
    'packages/b/package.json': manifest(NO_TEST),
    'tools/gen/package.json': manifest({}),
    'service/go.mod': '',
  };
  const npm = { 'package.json': manifest({ workspaces: ['packages/*', './tools/gen'] }) };
  expect(inspectRepository(createFolder({ ...packages, ...npm }))).toMatchObject({
    packageManager: 'npm',
    packageCount: 3,
    languages: ['JavaScript', 'TypeScript', 'Go'],
    tests: 'npm test --workspaces --if-present',
  });
  const pnpm = { 'package.json': manifest({}), 'pnpm-workspace.yaml': "packages:\n  - 'packages/*'\n" };
  expect(inspectRepository(createFolder({ ...packages, ...pnpm }))).toMatchObject({
    packageManager: 'pnpm',
    packageCount: 2,
    tests: 'pnpm -r test',
  });
});

test('files of a stranger are data: links, pipes, broken and huge ones, and patterns that lead out', () => {
  const outside = createFolder({ 'a/package.json': manifest(TEST) });
  const patterns = ['../*', `${outside}/*`, '/', '..', 'x/../../*', '*', '**', '', 5, null];
  const root = createFolder({ 'package.json': manifest({ workspaces: patterns, ...TEST }), 'pom.xml/x': '' });
  symlinkSync(outside, join(root, 'linked'));
  symlinkSync('/dev/zero', join(root, 'Makefile'));
  execFileSync('mkfifo', [join(root, 'pnpm-workspace.yaml'), join(root, 'requirements.txt')]);
  expect(inspectRepository(root)).toEqual({
    languages: ['JavaScript'],
    packageManager: 'npm',
    packageCount: 0,
    tests: 'npm test',
    hasEnvFile: false,
  });
  const slow = createFolder({ 'package.json': manifest(TEST), 'pnpm-workspace.yaml': '\n'.repeat(200_000) });
  expect(inspectRepository(slow).packageManager).toBe('pnpm');
  for (const text of ['{ broken', '[]', 'null', '"x"', '{"scripts":[],"workspaces":{"packages":7}}'])
    expect(inspectRepository(createFolder({ 'package.json': text })).tests).toBeNull();
});
