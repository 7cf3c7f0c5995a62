/**
 * What kind of project a folder is, from its files alone. They are a stranger's: nothing of them is run, and nothing of
 * their text is returned. Every word here is one of ours.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readSmallFileSync } from '@caisson/ground';
import type { RepositoryFacts } from './contract.ts';

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_FOLDERS = 200;

const LANGUAGES: readonly (readonly [string, readonly string[]])[] = [
  ['JavaScript', ['package.json']],
  ['TypeScript', ['tsconfig.json']],
  ['Python', ['pyproject.toml', 'setup.py', 'setup.cfg', 'requirements.txt']],
  ['Rust', ['Cargo.toml']],
  ['Go', ['go.mod']],
  ['Java', ['pom.xml', 'build.gradle', 'build.gradle.kts']],
  ['Ruby', ['Gemfile']],
  ['PHP', ['composer.json']],
  ['C or C++', ['CMakeLists.txt', 'meson.build']],
];

const PACKAGE_MANAGERS: readonly (readonly [string, readonly string[]])[] = [
  ['pnpm', ['pnpm-lock.yaml', 'pnpm-workspace.yaml']],
  ['yarn', ['yarn.lock']],
  ['bun', ['bun.lock', 'bun.lockb']],
  ['npm', ['package-lock.json', 'package.json']],
  ['uv', ['uv.lock']],
  ['poetry', ['poetry.lock']],
  ['cargo', ['Cargo.toml']],
  ['go', ['go.mod']],
  ['maven', ['pom.xml']],
  ['gradle', ['build.gradle', 'build.gradle.kts']],
];

export function inspectRepository(root: string): RepositoryFacts {
  const members = listMembers(root);
  const folders = [root, ...new Set([...members, ...listFolders(root, '.')].map((name) => join(root, name)))];
  const manager = PACKAGE_MANAGERS.find(([, files]) => files.some((file) => isFile(root, file)))?.[0] ?? null;
  return {
    languages: LANGUAGES.flatMap(([language, files]) =>
      folders.some((folder) => files.some((file) => isFile(folder, file))) ? [language] : [],
    ),
    packageManager: manager,
    packageCount: members.length,
    tests: findTests(root, members, manager),
    hasEnvFile: isFile(root, '.env'),
  };
}

/** The command that runs the tests, as a person would type it; null if none is known. */
function findTests(root: string, members: readonly string[], manager: string | null): string | null {
  if (isFile(root, 'package.json')) {
    const run = manager === 'bun' ? 'bun run' : NODE_MANAGERS.has(manager ?? '') ? manager : 'npm';
    if (hasTestScript(root)) return `${run} test`;
    const ofAll = TESTS_OF_ALL[manager ?? ''];
    if (ofAll !== undefined && members.some((name) => hasTestScript(join(root, name)))) return ofAll;
  }
  if (isFile(root, 'Cargo.toml')) return 'cargo test';
  if (isFile(root, 'go.mod')) return 'go test ./...';
  if (isFile(root, 'pom.xml')) return isFile(root, 'mvnw') ? './mvnw -o test' : 'mvn -o test';
  if (isFile(root, 'build.gradle') || isFile(root, 'build.gradle.kts'))
    return isFile(root, 'gradlew') ? './gradlew --offline test' : 'gradle --offline test';
  return findPythonTests(root) ?? (/^test:/m.test(read(root, 'Makefile')) ? 'make test' : null);
}

const NODE_MANAGERS: ReadonlySet<string> = new Set(['npm', 'pnpm', 'yarn']);

const TESTS_OF_ALL: Readonly<Record<string, string>> = {
  npm: 'npm test --workspaces --if-present',
  pnpm: 'pnpm -r test',
};

function findPythonTests(root: string): string | null {
  const python = isNamed(root, '.venv/bin/python') ? '.venv/bin/python' : 'python3';
  const names = ['pyproject.toml', 'setup.cfg', 'requirements.txt', 'requirements-dev.txt', 'tox.ini'];
  const usesPytest =
    ['pytest.ini', 'conftest.py', 'tests/conftest.py'].some((name) => isFile(root, name)) ||
    names.some((name) => /\bpytest\b/.test(read(root, name)));
  if (usesPytest) return `${python} -m pytest`;
  const hasTests = listNames(root, 'tests').some((name) => /^test_.*\.py$/.test(name));
  return hasTests ? `${python} -m unittest discover tests` : null;
}

/** npm writes a script that only fails into every new package. */
function hasTestScript(folder: string): boolean {
  const scripts = asRecord(readManifest(folder)['scripts']);
  const test = scripts['test'];
  return typeof test === 'string' && test.trim() !== '' && !test.includes('no test specified');
}

/** The packages of a monorepo, relative to its root. */
function listMembers(root: string): string[] {
  const { workspaces } = readManifest(root);
  const named = Array.isArray(workspaces) ? workspaces : asRecord(workspaces)['packages'];
  const ofNpm = Array.isArray(named) ? named.filter((item) => typeof item === 'string') : [];
  const ofPnpm = [...read(root, 'pnpm-workspace.yaml').matchAll(/^[ \t]*-[ \t]*['"]?([^'"#\s]+)/gm)].map(
    ([, pattern = '']) => pattern,
  );
  return [...ofNpm, ...ofPnpm]
    .slice(0, MAX_FOLDERS)
    .flatMap((pattern) => expand(root, pattern))
    .filter((name) => isFile(join(root, name), 'package.json'))
    .slice(0, MAX_FOLDERS);
}

/** A folder, or all folders in one; other patterns are rare, and never lead out of the project. */
function expand(root: string, pattern: string): string[] {
  const plain = pattern.replace(/^\.\//, '').replace(/\/$/, '');
  if (!/^[\w@-][\w@.-]*(\/[\w@-][\w@.-]*)*(\/\*\*?)?$/.test(plain)) return [];
  const parent = plain.replace(/\/\*\*?$/, '');
  return parent === plain ? [plain] : listFolders(root, parent);
}

function listFolders(root: string, parent: string): string[] {
  return listNames(root, parent)
    .filter((name) => !name.startsWith('.') && name !== 'node_modules')
    .map((name) => join(parent, name))
    .filter((name) => lstatSync(join(root, name), { throwIfNoEntry: false })?.isDirectory() === true);
}

function listNames(root: string, folder: string): string[] {
  try {
    return readdirSync(join(root, folder)).toSorted().slice(0, MAX_FOLDERS);
  } catch {
    return []; // not there, or not for us
  }
}

const isNamed = (folder: string, name: string): boolean =>
  lstatSync(join(folder, name), { throwIfNoEntry: false }) !== undefined;

const isFile = (folder: string, name: string): boolean =>
  lstatSync(join(folder, name), { throwIfNoEntry: false })?.isFile() === true;

function readManifest(folder: string): Record<string, unknown> {
  try {
    return asRecord(JSON.parse(read(folder, 'package.json')));
  } catch {
    return {}; // not there, or not JSON: the package manager will say so
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function read(folder: string, name: string): string {
  try {
    return readSmallFileSync(join(folder, name), MAX_FILE_BYTES)?.text ?? '';
  } catch {
    return ''; // not for us
  }
}
