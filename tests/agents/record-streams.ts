// Records what the real agent programs print, for the drivers' conformance suite. Each case runs the program in a
// fresh HOME against a scripted model on loopback; machine paths are scrubbed and long texts cut.
//
//   node tests/agents/record-streams.ts [RUNTIME…]        (after node tests/agents/install-agents.mjs)

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { normalizeEndpoint, RUNTIME_DESCRIPTORS } from '@caisson/protocol';
import { startModelServer, type ScriptInput } from '@caisson/testkit';
import type { AgentCommand, AgentExit, RuntimeDriver } from '../../packages/worker/src/runtimes/contract.ts';
import { findDriver } from '../../packages/worker/src/runtimes/index.ts';
import { findAgentBin, pathWithPinnedNode } from './install-agents.mjs';

const WORKER = join(dirname(fileURLToPath(import.meta.url)), '../../packages/worker/src');
const recordedFolder = (name: string): string => join(WORKER, 'runtimes', name, 'recorded');
const NATIVE_ENTRY = join(WORKER, 'native/native-agent.ts');
const LIMIT_MS = 60_000;
const GRACE_MS = 2_000;
const MAX_TEXT = 400;

const usage = (inputTokens: number, outputTokens: number, cacheReadTokens = 0) => ({
  inputTokens,
  outputTokens,
  cacheReadTokens,
});

const CASES: Readonly<Record<string, ScriptInput>> = {
  edit: [
    {
      say: 'I will write the file.',
      tool: { intent: 'write-file', path: 'hello.txt', content: 'hello\n' },
      usage: usage(100, 20, 30),
    },
    {
      tool: { intent: 'edit-file', path: 'README.md', find: 'old', replace: 'new' },
      usage: usage(110, 21, 7),
    },
    { say: 'Done: hello.txt.', usage: usage(120, 5) },
  ],
  command: [
    { tool: { intent: 'run-command', command: 'echo ran > ran.txt; cat ran.txt' }, usage: usage(50, 9) },
    { say: 'The command printed ran.', usage: usage(60, 7) },
  ],
  'failed-command': [
    { tool: { intent: 'run-command', command: 'echo bad >&2; exit 3' }, usage: usage(50, 9) },
    { say: 'It failed.', usage: usage(60, 7) },
  ],
  auth: [{ fault: '401' }],
  overloaded: [{ fault: '529' }],
  'rate-limit': [{ fault: '429' }],
  'context-overflow': [{ fault: 'context-overflow' }],
  refusal: [{ fault: 'refusal', usage: usage(10, 2) }],
  empty: [{ fault: 'empty', usage: usage(10, 1) }],
};

/** ACP is recorded with Gemini behind it. */
const PROGRAM_OF: Readonly<Record<string, string>> = { acp: 'gemini' };

interface Recording {
  readonly stdout: string;
  readonly exit: AgentExit;
  readonly served: unknown;
}

async function record(driver: RuntimeDriver, script: ScriptInput): Promise<Recording> {
  const folder = mkdtempSync(join(tmpdir(), 'record-'));
  const server = await startModelServer({ script });
  try {
    const workspace = join(folder, 'workspace');
    const home = join(folder, 'home');
    createWorkspace(workspace);
    const program = PROGRAM_OF[driver.name] ?? driver.name;
    const api = RUNTIME_DESCRIPTORS[program]?.api ?? 'none';
    const command = driver.command({
      bin: driver.name === 'native' ? NATIVE_ENTRY : (findAgentBin(program) ?? program),
      prompt: 'Please do the scripted thing.',
      mode: 'auto-edit',
      settings: {},
      endpoint: { baseUrl: normalizeEndpoint(api, server.url), apiKey: 'placeholder-key' },
      home,
      workspace,
      workspaceTop: workspace,
      isRoot: process.getuid?.() === 0,
    });
    const { stdout, exit } = await runAgent(driver, command, home, workspace);
    const scrub = (text: string) => scrubPaths(text, folder, server.port);
    return {
      stdout: stdout.split('\n').map(cutLine).map(scrub).join('\n'),
      exit: { ...exit, stderrTail: scrub(exit.stderrTail).slice(-MAX_TEXT) },
      served: server.usage(),
    };
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function createWorkspace(workspace: string): void {
  mkdirSync(workspace, { recursive: true });
  writeFileSync(join(workspace, 'README.md'), 'old text\n');
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=n', '-c', 'user.email=n@localhost', ...args], { cwd: workspace });
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'start');
}

function runAgent(driver: RuntimeDriver, command: AgentCommand, home: string, workspace: string) {
  mkdirSync(join(home, 'tmp'), { recursive: true });
  for (const file of command.files) {
    mkdirSync(dirname(file.path), { recursive: true });
    writeFileSync(file.path, file.content, { mode: file.mode ?? 0o600 });
  }
  const [bin = '', ...args] = command.argv;
  const env = {
    PATH: pathWithPinnedNode(),
    HOME: home,
    TMPDIR: join(home, 'tmp'),
    LANG: 'C.UTF-8',
    TERM: 'dumb',
  };
  const child = spawn(bin, args, { cwd: workspace, env: { ...env, ...command.env }, detached: true });
  const stream = driver.createStream();
  const killGroup = () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  };
  const limit = setTimeout(killGroup, LIMIT_MS);
  let grace: NodeJS.Timeout | undefined;
  let stdout = '';
  let rest = '';
  let stderr = '';
  child.stdin.on('error', () => undefined); // a program that fails at once closes its stdin first
  child.stdin.end(command.stdin ?? '');
  child.stderr.on('data', (chunk) => (stderr += String(chunk)));
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    const isOver = lines
      .flatMap((line) => [...stream.line(line)])
      .some((signal) => signal.kind === 'concluded');
    if (isOver) grace ??= setTimeout(killGroup, GRACE_MS);
  });
  return new Promise<{ stdout: string; exit: AgentExit }>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(limit);
      clearTimeout(grace);
      resolve({ stdout, exit: { code, signal, stderrTail: stderr } });
    });
  });
}

/** Long texts are prompts and documentation of the programs; none of it is needed to read a stream. */
function cutLine(line: string): string {
  if (!line.startsWith('{')) return line.slice(0, MAX_TEXT);
  const cut = (_key: string, value: unknown): unknown =>
    typeof value === 'string' && value.length > MAX_TEXT ? `${value.slice(0, 40)}…` : value;
  return JSON.stringify(JSON.parse(line), cut);
}

function scrubPaths(text: string, folder: string, port: number): string {
  return text
    .replaceAll(folder, '/sandbox')
    .replaceAll(folder.replaceAll('/', '-'), '-sandbox')
    .replace(/(file:\/\/)?\/[^\s"'()]*\/node_modules\//g, '/opt/node_modules/')
    .replaceAll(`:${port}`, ':4000');
}

async function recordRuntime(name: string): Promise<void> {
  const driver = findDriver(name);
  if (driver === null) throw new Error(`no driver named "${name}"`);
  mkdirSync(recordedFolder(name), { recursive: true });
  const index: Record<string, unknown> = {};
  for (const [title, script] of Object.entries(CASES)) {
    const { stdout, exit, served } = await record(driver, script);
    writeFileSync(join(recordedFolder(name), `${title}.ndjson`), stdout);
    index[title] = { exit, served };
    process.stdout.write(`${name} ${title}: exit ${exit.code ?? exit.signal}\n`);
  }
  writeFileSync(join(recordedFolder(name), 'cases.json'), `${JSON.stringify(index, null, 2)}\n`);
}

const wanted = process.argv.slice(2);
for (const name of wanted.length > 0
  ? wanted
  : ['claude-code', 'codex', 'pi', 'gemini', 'opencode', 'acp', 'native']) {
  await recordRuntime(name);
}
