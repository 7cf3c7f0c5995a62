// Installs pinned versions of the real agent programs into <repo>/.cache/agents/<name>@<version>.
//
// Plain JavaScript that runs on Node 20 and newer. npm itself runs with the repo's pinned Node first in PATH:
// on Node 20 npm silently resolves to old agent versions. An install goes to a temporary folder beside its
// target and is renamed only after `--version` answered with the pinned version, so that a folder with the
// final name is always whole, whatever was killed, and two installers at once cannot spoil each other.
//
//   node tests/agents/install-agents.mjs [NAME…] [--where]
//     NAME     claude-code, codex, gemini, opencode, pi; none means all
//     --where  install nothing; print one JSON object of name → bin (or null) and stop

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const REPO = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const CACHE = join(REPO, '.cache', 'agents');
const INSTALL_TIMEOUT_MS = 15 * 60_000;
const VERSION_TIMEOUT_MS = 60_000;

/** What is installed: the versions that the recorded streams were taken from. Order is install order. */
export const PINNED_AGENTS = [
  { name: 'codex', npmPackage: '@openai/codex', version: '0.166.0', bin: 'codex' },
  { name: 'claude-code', npmPackage: '@anthropic-ai/claude-code', version: '2.1.325', bin: 'claude' },
  { name: 'pi', npmPackage: '@earendil-works/pi-coding-agent', version: '0.87.1', bin: 'pi' },
  { name: 'gemini', npmPackage: '@google/gemini-cli', version: '0.61.0', bin: 'gemini' },
  { name: 'opencode', npmPackage: 'opencode-ai', version: '1.18.33', bin: 'opencode' },
];

/** Programs that speak ACP for an agent that does not; used by the whole matrix only. They do not answer `--version`. */
export const PINNED_ADAPTERS = [
  {
    name: 'claude-agent-acp',
    npmPackage: '@agentclientprotocol/claude-agent-acp',
    version: '0.49.0',
    bin: 'claude-agent-acp',
    isAdapter: true,
  },
];

/** The program of an installed agent; `null` when it is not in the cache. */
export function findAgentBin(name) {
  const agent = [...PINNED_AGENTS, ...PINNED_ADAPTERS].find((candidate) => candidate.name === name);
  if (agent === undefined) return null;
  const bin = binIn(folderOf(agent), agent);
  return existsSync(bin) ? bin : null;
}

/** Installs what is missing and returns the program's path. A second call finds it there. */
export async function installAgent(agent, say = () => {}) {
  const target = folderOf(agent);
  if (existsSync(binIn(target, agent))) {
    say(`${agent.name} ${agent.version}: already in ${relativeToRepo(target)}`);
    return binIn(target, agent);
  }
  await mkdir(CACHE, { recursive: true });
  const staging = `${target}.installing-${process.pid}`;
  const startedAt = Date.now();
  say(`${agent.name} ${agent.version}: installing ${agent.npmPackage} …`);
  try {
    await rm(staging, { recursive: true, force: true });
    await mkdir(staging);
    await writeFile(
      join(staging, 'package.json'),
      `${JSON.stringify({ private: true, name: 'agent-cache' })}\n`,
    );
    await npmInstall(staging, `${agent.npmPackage}@${agent.version}`);
    await verifyVersion(staging, agent);
    await publish(staging, target, agent);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  say(`${agent.name} ${agent.version}: ready after ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  return binIn(target, agent);
}

/** PATH with the pinned Node first; agents are scripts that start `node` from PATH. */
export function pathWithPinnedNode() {
  return [join(REPO, 'node_modules', '.bin'), process.env.PATH].filter(Boolean).join(':');
}

async function npmInstall(folder, spec) {
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error', spec];
  await run('npm', args, {
    cwd: folder,
    env: { ...process.env, PATH: pathWithPinnedNode() },
    timeout: INSTALL_TIMEOUT_MS,
    maxBuffer: 16 << 20,
  });
}

async function verifyVersion(folder, agent) {
  if (agent.isAdapter === true) {
    const manifest = join(folder, 'node_modules', agent.npmPackage, 'package.json');
    const { version } = JSON.parse(await readFile(manifest, 'utf8'));
    if (version !== agent.version) throw new Error(`${agent.name} is ${version}, expected ${agent.version}`);
    return;
  }
  const home = join(folder, '.version-home');
  await mkdir(home);
  try {
    const { stdout, stderr } = await run(binIn(folder, agent), ['--version'], {
      cwd: home,
      env: {
        PATH: pathWithPinnedNode(),
        HOME: home,
        TMPDIR: home,
        PI_OFFLINE: '1',
        DISABLE_AUTOUPDATER: '1',
      },
      timeout: VERSION_TIMEOUT_MS,
    });
    if (!`${stdout}${stderr}`.includes(agent.version)) {
      throw new Error(`${agent.name} says version "${stdout.trim()}", expected ${agent.version}`);
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function publish(staging, target, agent) {
  try {
    await rename(staging, target);
  } catch (error) {
    // Another installer was faster; its result was verified the same way.
    if (!existsSync(binIn(target, agent))) throw error;
  }
}

async function removeAbandoned() {
  if (!existsSync(CACHE)) return;
  for (const entry of await readdir(CACHE)) {
    const pid = /\.installing-(\d+)$/.exec(entry)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      await rm(join(CACHE, entry), { recursive: true, force: true });
  }
}

const folderOf = (agent) => join(CACHE, `${agent.name}@${agent.version}`);
const binIn = (folder, agent) => join(folder, 'node_modules', '.bin', agent.bin);
const relativeToRepo = (path) => path.slice(REPO.length + 1);

async function tryInstall(agent) {
  try {
    await installAgent(agent, (text) => process.stdout.write(`${text}\n`));
    return true;
  } catch (error) {
    const stderr = typeof error.stderr === 'string' ? `\n${error.stderr.trim()}` : '';
    process.stderr.write(`${agent.name} ${agent.version}: not installed: ${error.message}${stderr}\n`);
    return false;
  }
}

async function main(args) {
  if (args.includes('--where')) {
    const found = Object.fromEntries(PINNED_AGENTS.map(({ name }) => [name, findAgentBin(name)]));
    process.stdout.write(`${JSON.stringify(found)}\n`);
    return 0;
  }
  const unknown = args.filter((name) => !PINNED_AGENTS.some((agent) => agent.name === name));
  if (unknown.length > 0) {
    process.stderr.write(
      `unknown agent ${unknown.join(', ')}; known: ${PINNED_AGENTS.map((a) => a.name).join(', ')}\n`,
    );
    return 2;
  }
  await removeAbandoned();
  const wanted = PINNED_AGENTS.filter(({ name }) => args.length === 0 || args.includes(name));
  // Side by side: each waits for the network most of the time.
  const failures = (await Promise.all(wanted.map(tryInstall))).filter((isInstalled) => !isInstalled).length;
  return failures === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  process.exitCode = await main(process.argv.slice(2));
