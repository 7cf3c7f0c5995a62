// Starts the worker's bundle. `BUILD` is put in by scripts/build.mjs.
const load = process.getBuiltinModule('node:module').createRequire(import.meta.url);
load('./load-warm.cjs')('worker', BUILD, 'attempt');
