#!/usr/bin/env node
// Plain JavaScript for any Node from 20 up: an old Node must get a sentence, not a syntax error or a native crash.
// CommonJS (package.json beside it): loading the first ES module of a process costs more than the rest of this file.
'use strict';
const { existsSync, lstatSync, mkdirSync, statSync } = require('node:fs');
const nodeModule = require('node:module');
const { dirname, join } = require('node:path');

const LAUNCHED = 'CAISSON_LAUNCHED';
const MAIN = join(__dirname, '..', 'dist', 'start.cjs');
const [major, minor] = process.versions.node.split('.').map(Number);
const isNewEnough = major > 22 || (major === 22 && minor >= 18);

endWithLauncher();
if (!isNewEnough) runWithPinnedNode();
else if (!existsSync(MAIN)) refuse('this clone is not built yet. Run: npm run build');
else {
  // A user may have no home at all; then there is no cache, and nothing else changes.
  const cacheHome = process.env.XDG_CACHE_HOME || (process.env.HOME && join(process.env.HOME, '.cache'));
  const cache = cacheHome?.startsWith('/') ? join(cacheHome, 'caisson', 'compile') : null;
  if (cache !== null && isOurs(cache) && isMade(cacheHome, cache)) nodeModule.enableCompileCache?.(cache);
  require(MAIN);
}

// Compiled code is run as it is found, so nobody else may be able to put it there, as in the home of another account that
// `sudo -E` left in place: `compile` is for this user alone, `caisson` is written by this user alone, and the folders above
// them belong to this user or root. What is not there yet is made by us. The engine has the same rule (compile-cache.ts).
function isOurs(cache) {
  const own = process.geteuid();
  try {
    for (let at = cache, depth = 0; ; at = dirname(at), depth += 1) {
      const found = (depth < 2 ? lstatSync : statSync)(at, { throwIfNoEntry: false });
      if (found !== undefined && !isKept(found, depth, own)) return false;
      if (at === '/') return true;
    }
  } catch {
    return false;
  }
}

function isKept({ uid, mode }, depth, own) {
  if (depth < 2) return uid === own && (mode & (depth === 0 ? 0o077 : 0o022)) === 0;
  return (uid === own || uid === 0) && (mode & 0o1002) !== 0o002; // in a sticky folder each keeps what it has
}

// Step by step: Node's own way to make a folder never ends below one that takes none, such as /proc.
function isMade(home, cache) {
  if (existsSync(cache)) return true;
  try {
    for (const folder of [home, dirname(cache), cache])
      if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch {
    return existsSync(cache);
  }
}

// A user who kills the launcher means the command. No signal handler can pass SIGKILL on, so the end of the channel does it.
// Another program that starts us with a channel (fork) may close it: only our launcher names itself.
function endWithLauncher() {
  const isLaunched = process.env[LAUNCHED] !== undefined;
  delete process.env[LAUNCHED];
  if (!isLaunched || process.channel === undefined) return;
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel.unref();
}

function runWithPinnedNode() {
  const pinned = join(__dirname, '..', '..', '..', 'node_modules', '.bin', 'node');
  if (!existsSync(pinned)) {
    refuse(
      `Node ${process.versions.node} is too old. Install Node 22.18 or newer and run the command again.`,
    );
    return;
  }
  const { spawn } = require('node:child_process');
  const { isatty } = require('node:tty');
  const hasTerminal = [0, 1, 2].some((fd) => isatty(fd));
  const child = spawn(pinned, [__filename, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [LAUNCHED]: '1' },
  });
  child.channel?.unref(); // only the end of the child counts here
  // A signal sent only to this process has to be passed on. A terminal signals both: the second one within a moment is
  // ignored there (stop-signals.ts).
  let isTerminalGone = false;
  process.on('SIGINT', () => child.kill('SIGINT'));
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  process.on('SIGHUP', () => {
    isTerminalGone = hasTerminal;
    child.kill('SIGHUP');
  });
  child.on('error', (error) => refuse(`the pinned Node did not start: ${error.message}`));
  // An old Node aborts if it exits by itself after its terminal is gone.
  child.on('exit', (code, signal) => {
    const fatal = signal ?? (isTerminalGone ? 'SIGHUP' : null);
    if (fatal === null) {
      process.exitCode = code;
      return;
    }
    process.removeAllListeners(fatal);
    process.kill(process.pid, fatal);
  });
}

function refuse(text) {
  process.stderr.write(`caisson: ${text}\n`);
  process.exitCode = 2;
}
