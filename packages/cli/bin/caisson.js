#!/usr/bin/env node
// Plain JavaScript for any Node from 20 up: an old Node must get a sentence, not a syntax error or a native crash.
// Taken by `getBuiltinModule` where there is one: an `import` of these modules costs more than the rest of this file.
const take = process.getBuiltinModule ?? (await import('node:module')).createRequire(import.meta.url);
const { existsSync, mkdirSync } = take('node:fs');
const nodeModule = take('node:module');
const { dirname, join } = take('node:path');
const { fileURLToPath } = take('node:url');

const HERE = dirname(fileURLToPath(import.meta.url));
const MAIN = join(HERE, '..', 'dist', 'caisson.mjs');
const [major, minor] = process.versions.node.split('.').map(Number);
const isNewEnough = major > 22 || (major === 22 && minor >= 18);

if (!isNewEnough) await runWithPinnedNode();
else if (!existsSync(MAIN)) refuse('this clone is not built yet. Run: npm run build');
else {
  // A user may have no home at all; then there is no cache, and nothing else changes.
  const cacheHome = process.env.XDG_CACHE_HOME || (process.env.HOME && join(process.env.HOME, '.cache'));
  const cache = cacheHome?.startsWith('/') ? join(cacheHome, 'caisson', 'compile') : null;
  if (cache !== null && isMade(cacheHome, cache)) nodeModule.enableCompileCache?.(cache);
  await import(MAIN);
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

async function runWithPinnedNode() {
  const pinned = join(HERE, '..', '..', '..', 'node_modules', '.bin', 'node');
  if (!existsSync(pinned)) {
    refuse(
      `Node ${process.versions.node} is too old. Install Node 22.18 or newer and run the command again.`,
    );
    return;
  }
  const { spawn } = await import('node:child_process');
  const { isatty } = await import('node:tty');
  const hasTerminal = [0, 1, 2].some((fd) => isatty(fd));
  const child = spawn(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  // A terminal signals both processes; a signal sent only to this one has to be passed on.
  let isTerminalGone = false;
  process.on('SIGINT', () => undefined);
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
