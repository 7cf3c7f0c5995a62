// Starts the bundle of the commands that need nothing of the engine. `BUILD` is put in by scripts/build.mjs.
const load = process.getBuiltinModule('node:module').createRequire(import.meta.url);
load('./load-warm.cjs')('caisson-light', BUILD, process.argv[2]);
