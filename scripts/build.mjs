// Bundles what a user runs into packages/cli/dist: the CLI, the library, and each program that a host starts.
//   node scripts/build.mjs [--quiet] [--only caisson,index]
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { REQUIRE_BANNER, takeBuiltinsDirectly } from './builtin-imports.mjs';
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
  'acp-client': 'packages/worker/src/acp/acp-client.ts',
  relay: 'packages/worker/src/relay.ts',
  'tool-shim': 'packages/worker/src/tool-shim.ts',
  'mcp-server': 'packages/worker/src/coordination/mcp-server.ts',
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

/**
 * The MCP SDK brings all of zod. In a chunk of the worker it would keep esbuild from leaving out what the worker itself
 * does not use of it (4 ms of every start), so it is a bundle of its own; the chunk that loads it lies in chunks/.
 */
const mcpServerApart = {
  name: 'mcp-server-apart',
  setup(pluginBuild) {
    pluginBuild.onResolve({ filter: /\/mcp-server\.ts$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: '../mcp-server.mjs', external: true } : undefined,
    );
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
  banner: { js: REQUIRE_BANNER },
};

const present = Object.entries(ENTRIES).filter(
  ([name, source]) => existsSync(join(ROOT, source)) && (only?.includes(name) ?? true),
);
// CLI and library share chunks (commands load lazily). The worker starts from one file and has chunks for what few
// attempts need. What is started inside a sandbox is one file, because it is made visible there by name.
const isHostSide = ([name]) => name === 'caisson' || name === 'index';
const isInside = ([name]) => !isHostSide([name]) && name !== 'worker';
const SPLIT = { splitting: true, chunkNames: 'chunks/[name]-[hash]' };
process.on('exit', () => rmSync(OUT, { recursive: true, force: true }));
try {
  await bundle();
  takeBuiltinsDirectly(OUT);
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
  await Promise.all([
    build({ ...SHARED, ...SPLIT, entryPoints: Object.fromEntries(present.filter(isHostSide)) }),
    build({
      ...SHARED,
      ...SPLIT,
      plugins: [mcpServerApart, ...SHARED.plugins],
      entryPoints: Object.fromEntries(present.filter(([name]) => name === 'worker')),
    }),
    ...present
      .filter(isInside)
      .map(([name, source]) => build({ ...SHARED, entryPoints: { [name]: source } })),
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
