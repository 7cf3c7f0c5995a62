/** What known tools need of ignored folders, and of caches in HOME, to work without a network. */
import { basename } from 'node:path';

export interface Tool {
  readonly manifests: readonly string[];
  /** Beside the manifest. */
  readonly needs?: readonly string[];
  /** In HOME. */
  readonly caches?: readonly string[];
}

const PYTHON_MANIFESTS = [
  'pyproject.toml',
  'setup.py',
  'setup.cfg',
  'requirements.txt',
  'Pipfile',
  'tox.ini',
];

const TOOLS: readonly Tool[] = [
  {
    manifests: ['package.json'],
    needs: [
      ...['node_modules', '.yarn/cache', '.yarn/unplugged', '.yarn/install-state.gz'],
      ...['.pnp.cjs', '.pnp.loader.mjs', '.pnp.data.json'],
    ],
    // Yarn's packages without a copy in the project, and the package manager that a project names.
    caches: ['.yarn/berry/cache', '.cache/node/corepack', '.local/share/pnpm/.tools'],
  },
  {
    manifests: PYTHON_MANIFESTS,
    needs: ['.venv', 'venv', '__pypackages__', '.tox', '.nox', '.eggs'],
  },
  // Environments that lie in HOME, by the path of their project.
  { manifests: ['poetry.lock'], caches: ['.cache/pypoetry/virtualenvs'] },
  { manifests: ['Pipfile'], caches: ['.local/share/virtualenvs'] },
  { manifests: ['uv.lock'], caches: ['.cache/uv'] },
  {
    manifests: ['Cargo.toml'],
    needs: ['target', 'vendor'],
    caches: ['.cargo/registry', '.cargo/git/checkouts', '.cargo/git/db'],
  },
  { manifests: ['go.mod'], needs: ['vendor'], caches: ['go/pkg/mod', '.cache/go-build'] },
  { manifests: ['pom.xml'], needs: ['target'], caches: ['.m2/repository', '.m2/wrapper'] },
  {
    manifests: ['build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts'],
    needs: ['.gradle', 'build'],
    caches: ['.gradle/caches', '.gradle/wrapper', '.gradle/jdks'],
  },
  { manifests: ['composer.json'], needs: ['vendor'] },
  // RubyGems keeps its log-in beside these.
  { manifests: ['Gemfile'], needs: ['vendor'], caches: ['.local/share/gem/ruby', '.gem/ruby'] },
  {
    manifests: ['deno.json', 'deno.jsonc'],
    needs: ['node_modules', 'vendor'],
    // What programs store for themselves lies beside these.
    caches: ['.cache/deno/npm', '.cache/deno/remote', '.cache/deno/deps', '.cache/deno/gen'],
  },
  { manifests: ['mix.exs'], needs: ['deps', '_build'] },
];

/** At the top people also use them without a manifest. */
export const NEEDED_AT_TOP = ['node_modules', '.venv', 'venv'];

/** Pythons in HOME that virtual environments link to, and that PATH does not lead to. */
export const PYTHONS = [
  ...['.local/share/uv/python', '.pyenv/versions', '.asdf/installs/python'],
  '.local/share/mise/installs/python',
];

export const isOfPython = (manifest: string): boolean => PYTHON_MANIFESTS.includes(basename(manifest));

export const MANIFESTS: readonly string[] = [...new Set(TOOLS.flatMap(({ manifests }) => manifests))];

export const toolsOf = (manifest: string): readonly Tool[] =>
  TOOLS.filter(({ manifests }) =>
    manifests.some((name) => manifest === name || manifest.endsWith(`/${name}`)),
  );
