// What bin/caisson.js starts: it chooses the bundle that a command line needs, before anything else is loaded. Bundled into
// dist; `BUILDS` is put in by scripts/build.mjs.
'use strict';
const { chooseBundle, withCommandFirst } = require('../choose-bundle.ts');
const loadWarm = require('./load-warm.cjs');

const [word = 'help', ...rest] = withCommandFirst(process.argv.slice(2));
const bundle = chooseBundle(word, rest);
// Starting a worker takes longer than loading the CLI, so it begins first (decision 0006).
if (bundle === 'caisson' && word === 'run') {
  require('./early-worker.cjs').startEarlyWorker(rest);
  doNothingForLater();
}
loadWarm(bundle, BUILDS[bundle], word);

// Optimised code and a collected heap pay off later, and a short run has no later (decision 0080). V8 compares the flags of the
// start with those of the compiled code that it is given, so it takes that all the same.
function doNothingForLater() {
  const { setFlagsFromString } = require('node:v8');
  const forLater = ['maglev', 'turbofan', 'incremental-marking'];
  for (const name of forLater) setFlagsFromString(`--no-${name}`);
  setTimeout(() => {
    for (const name of forLater) setFlagsFromString(`--${name}`);
  }, 1000).unref();
}
