// Starts the bundle of a worker. `NAME` and `BUILD` are put in by scripts/build.mjs.
const load = process.getBuiltinModule('node:module').createRequire(import.meta.url);
load('./load-warm.cjs')(NAME, BUILD, process.env.CAISSON_EXPECTS_NETWORK === '1' ? 'agent' : 'command');
