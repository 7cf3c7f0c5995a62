// What bin/caisson.js starts: it chooses the bundle that a command line needs, before anything else is loaded. Bundled into
// dist; `BUILDS` is put in by scripts/build.mjs.
'use strict';
const { chooseBundle, withCommandFirst } = require('../choose-bundle.ts');
const loadWarm = require('./load-warm.cjs');

const [word = 'help', ...rest] = withCommandFirst(process.argv.slice(2));
const bundle = chooseBundle(word, rest);
// Starting a worker takes longer than loading the CLI, so it begins first (decision 0006).
const isRun = bundle === 'caisson' && word === 'run';
if (isRun) require('./early-worker.cjs').startEarlyWorker(rest);
loadWarm(bundle, BUILDS[bundle], word, isRun ? beginBriefly : undefined);

// Optimised code and a collected heap pay off later, and a short run has no later (decision 0080). Only where these are the defaults
// of V8, and nobody has set others. Returns what ends it: V8 takes compiled code only with the flags that it was kept with.
function beginBriefly() {
  const { env, execArgv, versions } = process;
  if (!versions.v8.startsWith('13.') || execArgv.length > 0 || env.NODE_OPTIONS) return () => undefined;
  const { setFlagsFromString } = require('node:v8');
  const forLater = ['maglev', 'turbofan', 'incremental-marking'];
  for (const name of forLater) setFlagsFromString(`--no-${name}`);
  const end = () => forLater.forEach((name) => setFlagsFromString(`--${name}`));
  setTimeout(end, 1000).unref();
  return end;
}
