// Starts a bundle with the code that V8 compiled for it last time. Node's own compile cache holds what was compiled when
// a file was loaded; this one is taken at the end, with every function that was really called. Copied into dist for the
// worker; the start of the CLI has it in itself.
'use strict';
const { closeSync, constants: open, fstatSync, openSync } = require('node:fs');
const { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const { createRequire, getCompileCacheDir } = require('node:module');
const { dirname, join } = require('node:path');
const { constants, Script } = require('node:vm');

/**
 * Runs `name`.cjs beside this file and returns its exports. `build` is a hash of its content, `word` says what for: each use
 * calls other functions. Where a bundle exports `usedFor`, its code is kept only if that is what it was used for in the end.
 * V8 refuses code of another version of itself, and then everything is compiled as ever. `begin` is called when the code is
 * loaded, and what it returns before the code is kept.
 */
module.exports = function loadWarm(name, build, word, begin = () => () => undefined) {
  const use = /^[a-z]{1,20}$/.test(word) ? word : 'other';
  const file = join(__dirname, `${name}.cjs`);
  const folder = getCompileCacheDir?.(); // Node's folder for exactly this Node, this machine and this user; may be off
  const cache = folder === undefined ? null : join(folder, `${name}-${use}-${build}.code`);
  const known = cache === null ? undefined : readIfOurs(cache);
  const script = new Script(wrap(readFileSync(file, 'latin1')), {
    filename: file,
    cachedData: known,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const module = { exports: {} };
  const end = begin();
  if (cache !== null && (known === undefined || script.cachedDataRejected)) {
    process.once('exit', (code) => {
      const { usedFor = use } = module.exports;
      end();
      if (code === 0 && usedFor === use) keep(cache, `${name}-${use}-`, script);
    });
  }
  silenceOwnWarning();
  script.runInThisContext()(module.exports, createRequire(file), module, file, __dirname);
  return module.exports;
};

/** Node calls the loader of a bundle's own `import()` experimental; a user can do nothing about that. */
function silenceOwnWarning() {
  const { emitWarning } = process;
  process.emitWarning = (warning, ...rest) => {
    if (!String(warning).includes('USE_MAIN_CONTEXT_DEFAULT_LOADER'))
      emitWarning.call(process, warning, ...rest);
  };
}

function wrap(source) {
  return `(function (exports, require, module, __filename, __dirname) { ${source}\n})`;
}

/** Only what this user wrote and no other can write: it is run as it is. */
function readIfOurs(file) {
  let fd;
  try {
    fd = openSync(file, open.O_RDONLY | open.O_NONBLOCK);
    const { uid, mode } = fstatSync(fd);
    return uid === process.geteuid() && (mode & 0o022) === 0 ? readFileSync(fd) : undefined;
  } catch {
    return undefined; // not there, or not ours to read: slower, never wrong
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** A cache that cannot be written is not missed; older builds leave theirs behind, which go here. */
function keep(file, prefix, script) {
  const temp = `${file}.${process.pid}`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    for (const name of readdirSync(dirname(file))) {
      if (name.startsWith(prefix) && name.endsWith('.code'))
        rmSync(join(dirname(file), name), { force: true });
    }
    writeFileSync(temp, script.createCachedData(), { mode: 0o600 });
    renameSync(temp, file);
  } catch {
    rmSync(temp, { force: true });
  }
}
