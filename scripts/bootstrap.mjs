// First contact with a clone. Plain JavaScript for Node 20 and up, because it runs before anything is installed:
//   node scripts/bootstrap.mjs start|test|faults|build|check|bench
// 1. installs the locked dependencies, the pinned Node among them, when they are missing or the lock file changed,
// 2. installs (as root, with apt-get, unless CAISSON_NO_APT is set) or names the missing system packages,
// 3. builds, and 4. hands over to the requested script, which runs on the pinned Node.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, accessSync, constants } from 'node:fs';
import { constants as osConstants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BIN = join(ROOT, 'node_modules', '.bin');
/** The Node of this repository is a locked package for each machine; npm links the one that fits. */
const PINNED_PACKAGE = `node_modules/node-linux-${process.arch}`;
const PINNED_NODE = join(BIN, 'node');
const OLDEST_NODE = [22, 18];
/** npm prints nothing while it works. */
const STILL_MS = 5000;

/** What can be asked for: the script behind it, and whether it needs the bundles. */
const TARGETS = {
  start: { script: 'scripts/start.ts', needsBuild: true },
  test: {
    script: 'scripts/test.ts',
    needsBuild: true,
    tools: {
      strace: 'strace',
      faketime: 'faketime',
      curl: 'curl',
      ps: 'procps',
      zsh: 'zsh',
      fish: 'fish',
      'ssh-agent': 'openssh-client',
      sshd: 'openssh-server',
      python3: 'python3',
      bindfs: 'bindfs',
      'mkfs.ext4': 'e2fsprogs',
    },
  },
  faults: {
    script: 'tests/faults/harness/main.ts',
    needsBuild: true,
    tools: {
      strace: 'strace',
      faketime: 'faketime',
      perl: 'perl',
      ps: 'procps',
      bindfs: 'bindfs',
      'mkfs.ext4': 'e2fsprogs',
    },
  },
  build: { script: 'scripts/build.mjs', needsBuild: false },
  check: { script: 'scripts/check.ts', needsBuild: false },
  bench: {
    script: 'bench/run.ts',
    needsBuild: true,
    tools: {
      'redis-server': 'redis-server',
      firejail: 'firejail',
      rg: 'ripgrep',
      socat: 'socat',
      strace: 'strace',
    },
  },
};

/** Commands that Caisson needs from the system, with the Debian package that brings each. */
const SYSTEM_COMMANDS = { bwrap: 'bubblewrap', git: 'git' };

await main(process.argv[2], process.argv.slice(3));

async function main(name, args) {
  const target = Object.hasOwn(TARGETS, name ?? '') ? TARGETS[name] : undefined;
  if (target === undefined) {
    fail(`"${name ?? ''}" is not one of ${Object.keys(TARGETS).join(', ')}.`, 2);
  }
  if (process.platform !== 'linux') fail(`Caisson runs on Linux; this is ${process.platform}.`, 1);
  if (!isInstalled()) await installDependencies();
  const node = resolveNode();
  provideSystemPackages(target.tools);
  if (target.needsBuild) build(node);
  if (!existsSync(join(ROOT, target.script))) fail(`${target.script} does not exist in this clone.`, 1);
  process.exitCode = await handOver(node, [join(ROOT, target.script), ...args]);
}

/** npm writes its own record of the tree last, so an interrupted install does not count. */
function isInstalled() {
  const wanted = readJson(join(ROOT, 'package-lock.json'));
  const found = readJson(join(ROOT, 'node_modules', '.package-lock.json'));
  if (wanted === null) fail('package-lock.json is missing or not JSON; restore it with git.', 1);
  if (found === null) return false;
  return Object.entries(wanted.packages).every(([path, entry]) => {
    if (path === '' || !path.startsWith('node_modules/')) return true;
    const present = found.packages[path];
    if (present !== undefined) return present.version === entry.version;
    return entry.optional === true && path !== PINNED_PACKAGE;
  });
}

/**
 * No third-party install script runs: better-sqlite3 and esbuild ship their programs, and a no-op `node-gyp rebuild`
 * would ask for python, make and headers. Everything comes from the lock file, with the digest that is written there;
 * so nothing is resolved for the Node that happens to run npm.
 */
async function installDependencies() {
  const packages = Object.keys(readJson(join(ROOT, 'package-lock.json'))?.packages ?? {});
  const count = packages.filter((path) => path.startsWith('node_modules/')).length;
  say(`installing the locked dependencies (npm ci), up to ${count} packages; this may take some minutes`);
  const npm = findCommand('npm');
  if (npm === null) fail('npm was not found in PATH; install it together with Node 20 or newer.', 1);
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  const flags = ['--ignore-scripts', '--include=optional', '--engine-strict=false'];
  const startedMs = Date.now();
  const timer = setInterval(
    () => say(`still installing, for ${Math.round((Date.now() - startedMs) / 1000)} s`),
    STILL_MS,
  );
  const status = await handOver(npm, ['ci', ...flags, ...quiet]);
  clearInterval(timer);
  if (status !== 0)
    fail(`npm ci ended with code ${status}. Read its message above; it needs the npm registry.`, 1);
}

/**
 * The pinned Node; otherwise a Node of the system that is new enough. npm leaves out, without a word, an optional package
 * that it cannot fetch or that does not have its digest.
 */
function resolveNode() {
  if (versionOf(PINNED_NODE) !== null) return PINNED_NODE;
  const isLocked = readJson(join(ROOT, 'package-lock.json'))?.packages[PINNED_PACKAGE] !== undefined;
  const why = isLocked
    ? 'The pinned Node was not installed: npm could not fetch it, or it does not have the digest of the lock file.'
    : `The lock file has no Node for ${process.arch}.`;
  if (!isNewEnough(process.versions.node))
    fail(
      `${why} This one is ${process.versions.node}. Install Node ${OLDEST_NODE.join('.')} or newer, then try again.`,
      1,
    );
  say(`${why} Going on with ${process.versions.node}.`);
  return process.execPath;
}

/** What Caisson itself needs, and what this target's peers and fault injectors are. */
function provideSystemPackages(tools = {}) {
  const missing = Object.entries({ ...SYSTEM_COMMANDS, ...tools })
    .filter(([command]) => findCommand(command) === null)
    .map(([, name]) => name);
  if (missing.length === 0) return;
  const names = missing.join(' ');
  const apt = findCommand('apt-get');
  if (apt === null || process.getuid?.() !== 0 || isSet(process.env.CAISSON_NO_APT)) {
    say(`missing system packages: ${names}. Install them, for example: sudo apt-get install ${names}`);
    return;
  }
  say(`about to install system packages with apt-get: ${names}`);
  say('to leave that out, stop now (Ctrl-C) and start again with CAISSON_NO_APT=1');
  const quiet = {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...environment(), DEBIAN_FRONTEND: 'noninteractive' },
  };
  run(apt, ['update', '-qq'], quiet);
  const status = run(apt, ['install', '-y', '-qq', '--no-install-recommends', ...missing], quiet);
  if (status !== 0) say(`apt-get ended with code ${status}; ${names} must be installed by hand.`);
}

function build(node) {
  say('building');
  const status = run(node, [join(ROOT, 'scripts', 'build.mjs'), '--quiet']);
  if (status !== 0) fail('The build failed; its message is above.', status);
}

/** Gives terminal and signals to a program, and returns its exit code. */
function handOver(program, args) {
  const child = spawn(program, args, { cwd: ROOT, stdio: 'inherit', env: environment() });
  const stay = () => undefined; // the terminal has already signalled the child
  const passOn = () => child.kill('SIGTERM');
  process.on('SIGINT', stay).on('SIGTERM', passOn);
  return new Promise((resolve) => {
    child.on('error', (error) => fail(`${program} could not be started: ${error.message}`, 1));
    child.on('exit', (code, signal) => {
      process.off('SIGINT', stay).off('SIGTERM', passOn);
      resolve(code ?? 128 + (osConstants.signals[signal] ?? 1));
    });
  });
}

function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit', env: environment(), ...options });
  if (result.error !== undefined) say(`${command}: ${result.error.message}`);
  return result.status ?? 1;
}

/** The pinned programs come first, so that `node` means the same for every child. */
function environment() {
  return { ...process.env, PATH: [BIN, process.env.PATH ?? ''].join(delimiter) };
}

function versionOf(node) {
  if (!existsSync(node)) return null;
  const result = spawnSync(node, ['--version'], { encoding: 'utf8' });
  return result.status === 0 ? result.stdout.trim() : null;
}

function isSet(value) {
  return value !== undefined && value !== '' && value !== '0';
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
}

function findCommand(name) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

function say(text) {
  process.stderr.write(`caisson: ${text}\n`);
}

function fail(text, code) {
  say(text);
  process.exit(code);
}
