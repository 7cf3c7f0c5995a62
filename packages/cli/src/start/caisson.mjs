// What bin/caisson.js starts: it chooses the bundle that a command line needs, before anything else is loaded.
// `BUILD` is put in by scripts/build.mjs.
const load = process.getBuiltinModule('node:module').createRequire(import.meta.url);
/** These need nothing of the engine: the light bundle answers them. */
const LIGHT = ['-V', '-h', '--version', '--help', 'version'];

const [, , word, ...rest] = process.argv;
// Starting a worker takes longer than loading the CLI, so it begins first (decision 0006).
if (word === 'run') load('./early-worker.cjs').startEarlyWorker(rest);
if (LIGHT.includes(word)) await import('./caisson-light.mjs');
else load('./load-warm.cjs')('caisson', BUILD, word ?? 'help');
