// Bundles what a user runs into packages/cli/dist: the CLI, the library, and each program that a host starts.
//   node scripts/build.mjs [--quiet] [--only caisson,index]
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { buildDashboard } from '../packages/dashboard/build.mjs';
import { CLIENT_COMMANDS, LIGHT_COMMANDS } from '../packages/cli/src/choose-bundle.ts';
import { REQUIRE_BANNER, takeBuiltinsDirectly, takeBuiltinsLater } from './builtin-imports.mjs';
import { emitDeclarations } from './declarations.mjs';
import { directImports } from './direct-imports.mjs';
import { lateZod } from './late-zod.mjs';
import {
  engineApart,
  mcpFaceApart,
  mcpServerApart,
  onlyCommands,
  otelApart,
  policyApart,
} from './left-apart.mjs';
import { patientJson } from './patient-json.mjs';
import { schemaReaders } from './schema-readers.mjs';
import { readLockFile } from './supply-chain/lock-file.ts';
import { createSbom } from './supply-chain/sbom.ts';

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
  'caisson-client': 'packages/cli/src/main.ts',
  'caisson-light': 'packages/cli/src/main.ts',
  engine: 'packages/engine/src/composition/in-process.ts',
  'early-worker': 'packages/cli/src/early-worker.ts',
  index: 'packages/cli/src/index.ts',
  testkit: 'packages/testkit/src/index.ts',
  'ledger-thread': 'packages/engine/src/ledger/sqlite/commit-thread.ts',
  'examine-thread': 'packages/engine/src/operations/examine-thread.ts',
  worker: 'packages/worker/src/main.ts',
  policy: 'packages/policy/src/index.ts',
  resident: 'packages/worker/src/resident/main.ts',
  guest: 'packages/worker/src/resident/guest/guest.ts',
  authoring: 'packages/protocol/src/authoring.ts',
  'native-agent': 'packages/worker/src/native/native-agent.ts',
  'acp-client': 'packages/worker/src/acp/acp-client.ts',
  relay: 'packages/worker/src/inside/relay.ts',
  'tool-shim': 'packages/worker/src/inside/tool-shim.ts',
  'mcp-server': 'packages/worker/src/coordination/mcp-server.ts',
  'otel-export': 'packages/engine/src/telemetry/otel-export.ts',
  'mcp-face': 'packages/engine/src/api/mcp/mcp-face.ts',
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
  metafile: true,
  external: ['@aws-sdk/*'],
  banner: { js: REQUIRE_BANNER },
};

const present = Object.entries(ENTRIES).filter(
  ([name, source]) => existsSync(join(ROOT, source)) && (only?.includes(name) ?? true),
);
const COMMON_JS = {
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  define: { 'import.meta.url': '__moduleUrl' },
  banner: { js: 'const __moduleUrl = require("node:url").pathToFileURL(__filename).href;' },
};

/** A program that starts a bundle is taken as it is written. */
const START = { absWorkingDir: ROOT, outdir: OUT, outExtension: { '.js': '.mjs' }, logLevel: 'warning' };

/** Started most often, so each is one CommonJS file that a small program starts with its compiled code (load-warm.cjs). */
const WARM = ['caisson', 'caisson-client', 'caisson-light', 'worker', 'policy', 'resident'];
/** Those that a host starts; a small program of one line starts each. */
const WORKERS = ['worker', 'resident'];
/** The global `performance` loads ten modules of Node, most of 1.5 ms; its clock needs none. */
const OWN_CLOCK = {
  define: { ...COMMON_JS.define, 'performance.now': '__now' },
  banner: {
    js: `${COMMON_JS.banner.js}\nconst __now = () => { const [s, ns] = process.hrtime(); return s * 1e3 + ns / 1e6; };`,
  },
};
/** They take the schema library from a file beside them. */
const ZOD_LATE = [...WORKERS, 'policy'];
/** Bundles that load modules of Node when they use them. */
const LATE = [...WARM, 'engine', 'early-worker'].map((name) => `${name}.cjs`);
/** What a warm bundle does not take in, or takes in otherwise: a worker with a good job builds no schema. */
const APART = {
  caisson: [otelApart, mcpFaceApart],
  'caisson-client': [onlyCommands(CLIENT_COMMANDS), engineApart, mcpFaceApart],
  'caisson-light': [onlyCommands(LIGHT_COMMANDS)],
  worker: [mcpServerApart, policyApart, schemaReaders, lateZod(ROOT)],
  policy: [schemaReaders, lateZod(ROOT)],
  resident: [schemaReaders, lateZod(ROOT)],
};
/** The library has chunks for what few use. What is started inside a sandbox is one file: it is made visible by name. */
const OTHERS = {
  index: { splitting: true, chunkNames: 'chunks/[name]-[hash]' },
  'early-worker': COMMON_JS,
  engine: { ...COMMON_JS, plugins: [otelApart, mcpFaceApart, ...SHARED.plugins] },
  'native-agent': { plugins: [patientJson, ...SHARED.plugins] },
  guest: { plugins: [schemaReaders, ...SHARED.plugins] },
};
process.on('exit', () => rmSync(OUT, { recursive: true, force: true }));
let dashboard = null;
try {
  const [bundled, pages] = await Promise.all([bundle(), buildPages()]);
  dashboard = pages;
  const inputs = [...bundled, ...(pages?.inputs ?? [])];
  for (const name of LATE) if (existsSync(join(OUT, name))) takeBuiltinsLater(join(OUT, name));
  await buildStarts();
  takeBuiltinsDirectly(OUT);
  copyFileSync(join(ROOT, 'packages/cli/src/start/load-warm.cjs'), join(OUT, 'load-warm.cjs'));
  copyFileSync(join(ROOT, 'packages', 'worker', 'src', 'inside', 'inside.pl'), join(OUT, 'inside.pl'));
  copyFileSync(join(ROOT, 'docs/reference/openapi.json'), join(OUT, 'openapi.json'));
  writeSbom(inputs);
  emitDeclarations(ROOT, join(OUT, 'types'), { isQuiet });
  // Two renames: a command that starts meanwhile finds a complete build, the old or the new one.
  const old = `${OUT}.old`;
  if (existsSync(DIST)) renameSync(DIST, old);
  renameSync(OUT, DIST);
  rmSync(old, { recursive: true, force: true });
} catch (error) {
  // esbuild has printed the error with its place; anything else is reported here.
  if (error?.errors === undefined) process.stderr.write(`${error?.stack ?? error}\n`);
  process.exit(1);
}
if (!isQuiet) process.stdout.write(`built ${present.map(([name]) => `${name}.mjs`).join(', ')}\n`);
if (!isQuiet && dashboard !== null)
  process.stdout.write(`built the dashboard: ${(dashboard.gzipBytes / 1000).toFixed(1)} kB (gzip)\n`);

async function buildPages() {
  return only?.includes('dashboard') === false ? null : await buildDashboard(ROOT, join(OUT, 'dashboard'));
}

/** Resolves to every file that is in a bundle. */
async function bundle() {
  const results = await Promise.all([
    ...present.map(([name, source]) =>
      build({
        ...SHARED,
        ...(WARM.includes(name) ? warm(name) : OTHERS[name]),
        entryPoints: { [name]: source },
      }),
    ),
    build({ ...SHARED, ...COMMON_JS, plugins: [lateZod(ROOT)], entryPoints: { zod: 'used-zod' } }),
  ]);
  return results.flatMap(({ metafile }) =>
    Object.values(metafile.outputs).flatMap((output) => Object.keys(output.inputs)),
  );
}

/** One file of a package in a bundle puts the package on the bill of materials. */
function writeSbom(inputs) {
  const bundled = new Set(
    inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []),
  );
  const sbom = createSbom({ entries: readLockFile(ROOT), bundled });
  writeFileSync(join(OUT, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
}

function warm(name) {
  const isZodLate = ZOD_LATE.includes(name);
  const plugins = [withoutSideEffects, directImports(ROOT, { isZodLate })];
  const clock = WORKERS.includes(name) ? OWN_CLOCK : {};
  return { ...COMMON_JS, ...clock, plugins: [...(APART[name] ?? []), ...plugins] };
}

/** The programs that start the warm bundles, with a hash of each. */
async function buildStarts() {
  const built = WARM.filter((name) => existsSync(join(OUT, `${name}.cjs`)));
  const builds = Object.fromEntries(built.map((name) => [name, hashOf(join(OUT, `${name}.cjs`))]));
  for (const name of WORKERS)
    await build({
      ...START,
      entryPoints: { [name]: 'packages/worker/src/start.mjs' },
      define: { NAME: JSON.stringify(name), BUILD: JSON.stringify(builds[name]) },
    });
  await build({
    ...{ ...START, outExtension: { '.js': '.cjs' } },
    entryPoints: { 'start-policy': 'packages/policy/src/start-policy.cjs' },
    define: { BUILD: JSON.stringify(builds.policy) },
  });
  await build({
    ...{ ...SHARED, ...COMMON_JS, banner: {}, plugins: [], external: ['./early-worker.cjs'] },
    entryPoints: { start: 'packages/cli/src/start/start.cjs' },
    define: { BUILDS: JSON.stringify(builds) },
  });
}

function hashOf(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16);
}
