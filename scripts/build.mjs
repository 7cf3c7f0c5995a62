// Bundles what a user runs into packages/cli/dist: the CLI, the library, and each program that a host starts.
//   node scripts/build.mjs [--quiet] [--only caisson,index]
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { directImports } from './direct-imports.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const DIST = join(ROOT, 'packages', 'cli', 'dist');
/** Built aside and swapped in at the end: a build that fails leaves the last good one in place. */
const OUT = `${DIST}.${process.pid}`;
const only = process.argv.includes('--only')
  ? process.argv[process.argv.indexOf('--only') + 1]?.split(',')
  : undefined;
const isQuiet = process.argv.includes('--quiet');

/** Bundle name → source. A program whose source is not written yet is left out. */
const ENTRIES = {
  caisson: 'packages/cli/src/main.ts',
  index: 'packages/cli/src/index.ts',
  worker: 'packages/worker/src/main.ts',
  'native-agent': 'packages/worker/src/native/native-agent.ts',
  relay: 'packages/worker/src/relay.ts',
  'tool-shim': 'packages/worker/src/tool-shim.ts',
};

/** Our own modules change nothing outside themselves when they are loaded, so what a bundle does not use is left out. */
const withoutSideEffects = {
  name: 'without-side-effects',
  setup(pluginBuild) {
    pluginBuild.onResolve({ filter: /^(\.|\/|@caisson\/)/ }, async (args) => {
      if (
        args.kind === 'entry-point' ||
        args.pluginData === 'resolved' ||
        args.importer.includes('node_modules')
      )
        return undefined;
      const { path, errors } = await pluginBuild.resolve(args.path, {
        kind: args.kind,
        importer: args.importer,
        resolveDir: args.resolveDir,
        pluginData: 'resolved',
      });
      return errors.length > 0 ? { errors } : { path, sideEffects: false };
    });
  },
};

const SHARED = {
  plugins: [withoutSideEffects, directImports(ROOT)],
  absWorkingDir: ROOT,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  outExtension: { '.js': '.mjs' },
  outdir: OUT,
  minifySyntax: true,
  minifyWhitespace: false,
  minifyIdentifiers: false,
  keepNames: false,
  sourcemap: false,
  legalComments: 'none',
  logLevel: 'warning',
  external: ['better-sqlite3', '@aws-sdk/*'],
  // Bundled CommonJS asks for `require`; an ES module has none of its own.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
  },
};

/** What a program loads only when it needs it lies beside it, so that its start does not pay for it. */
const LAZY_PARTS = { worker: { splitting: true, chunkNames: 'chunks/worker-[name]-[hash]' } };

const present = Object.entries(ENTRIES).filter(
  ([name, source]) => existsSync(join(ROOT, source)) && (only?.includes(name) ?? true),
);
// CLI and library share chunks (commands load lazily); each worker program is one file, read once at its start.
const isHostSide = ([name]) => name === 'caisson' || name === 'index';
process.on('exit', () => rmSync(OUT, { recursive: true, force: true }));
try {
  await bundle();
  emitDeclarations();
  rmSync(DIST, { recursive: true, force: true });
  renameSync(OUT, DIST);
} catch (error) {
  // esbuild has printed what is wrong, with its place; anything else is told here.
  if (error?.errors === undefined) process.stderr.write(`${error?.stack ?? error}\n`);
  process.exit(1);
}
if (!isQuiet) process.stdout.write(`built ${present.map(([name]) => `${name}.mjs`).join(', ')}\n`);

async function bundle() {
  const programs = present.filter((entry) => !isHostSide(entry));
  await Promise.all([
    build({
      ...SHARED,
      entryPoints: Object.fromEntries(present.filter(isHostSide)),
      splitting: true,
      chunkNames: 'chunks/[name]-[hash]',
    }),
    ...programs.map(([name, source]) =>
      build({ ...SHARED, ...LAZY_PARTS[name], entryPoints: { [name]: source } }),
    ),
  ]);
}

/** The library's types. The workspace packages are not published, so their names become relative paths. */
function emitDeclarations() {
  const tsc = join(ROOT, 'node_modules', '.bin', 'tsc');
  const types = join(OUT, 'types');
  const result = spawnSync(tsc, ['-p', 'tsconfig.declarations.json', '--outDir', types], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  // Type errors are the business of `npm run check`; the declarations are written all the same.
  if (result.status !== 0 && !isQuiet) process.stderr.write('tsc reported type errors; see npm run check\n');
  for (const name of readdirSync(types, { recursive: true })) {
    if (name.endsWith('.d.ts')) pointAtOwnTypes(join(types, name), types);
  }
}

function pointAtOwnTypes(file, types) {
  const text = readFileSync(file, 'utf8');
  const pointed = text.replaceAll(/(['"])@caisson\/([a-z]+)\1/g, (_, quote, name) => {
    const target = relative(dirname(file), join(types, name, 'src', 'index.js'));
    return `${quote}${target.startsWith('.') ? target : `./${target}`}${quote}`;
  });
  if (pointed !== text) writeFileSync(file, pointed);
}
