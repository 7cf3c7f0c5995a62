// Starts the bundle of the rules with its compiled code, in a worker that needs them. `BUILD` is put in by
// scripts/build.mjs.
'use strict';
module.exports = require('./load-warm.cjs')('policy', BUILD, 'rules');
