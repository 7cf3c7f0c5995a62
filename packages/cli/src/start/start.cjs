// What bin/caisson.js starts: it chooses the bundle that a command line needs, before anything else is loaded. Bundled into
// dist; `BUILDS` is put in by scripts/build.mjs.
'use strict';
const { chooseBundle } = require('../choose-bundle.ts');
const loadWarm = require('./load-warm.cjs');

const [, , word = 'help', ...rest] = process.argv;
const bundle = chooseBundle(word, rest);
// Starting a worker takes longer than loading the CLI, so it begins first (decision 0006).
if (bundle === 'caisson' && word === 'run') require('./early-worker.cjs').startEarlyWorker(rest);
loadWarm(bundle, BUILDS[bundle], word);
