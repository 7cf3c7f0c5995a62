/** Real agents as clients of `caisson mcp`, and of `/mcp` on a daemon, configured as the guide says, with a scripted model. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer } from '@caisson/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BIN, createProject, finish, until, type CliRun, type Project } from '../e2e/project.ts';
import { isSkipped } from './agent-under-test.ts';
import { installAgent, pathWithPinnedNode, PINNED_AGENTS } from './install-agents.mjs';

const KEY = 'sk-dummy-of-the-tests';
const SERVER = [process.execPath, BIN, 'mcp', '--budget', '1'];

interface Client {
  readonly name: 'claude-code' | 'codex';
  env(url: string): Record<string, string>;
  /** What is there before the server is added. */
  prepare(home: string, url: string): void;
  /** With the words that the guide has behind `mcp add`. */
  readonly add: readonly string[];
  /** Where its server is a daemon. */
  addHttp?(url: string, token: string): readonly string[];
  readonly run: readonly string[];
}

const CLIENTS: readonly Client[] = [
  {
    name: 'claude-code',
    env: (url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: KEY,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      ENABLE_TOOL_SEARCH: 'false',
    }),
    prepare: () => undefined,
    add: ['mcp', 'add', 'caisson', '--', ...SERVER],
    addHttp: (url, token) => [
      ...['mcp', 'add', '--transport', 'http', 'caisson', url, '--header', `Authorization: Bearer ${token}`],
    ],
    run: [
      ...['-p', '--output-format', 'stream-json', '--verbose', '--model', 'claude-sonnet-4-5'],
      ...['--permission-mode', 'dontAsk', '--allowedTools', 'mcp__caisson'],
    ],
  },
  {
    name: 'codex',
    env: () => ({ MODEL_KEY: KEY }),
    prepare(home, url) {
      mkdirSync(join(home, '.codex'), { recursive: true });
      writeFileSync(
        join(home, '.codex/config.toml'),
        `check_for_update_on_startup = false
model_provider = "scripted"
[analytics]
enabled = false
[feedback]
enabled = false
[features]
plugins = false
apps = false
remote_plugin = false
plugin_discovery_prefetch = false
multi_agent = false
[model_providers.scripted]
name = "scripted"
base_url = "${url}/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
`,
      );
    },
    add: ['mcp', 'add', 'caisson', '--', ...SERVER],
    run: [
      ...['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'],
      ...['--model', 'gpt-5', '-'],
    ],
  },
];

const mcp = (tool: string, args: Record<string, unknown> = {}) => ({
  tool: { intent: 'mcp' as const, tool, arguments: args },
});
/** What the model lets its agent do: all tools that there are, but for `answer` and `board`. */
const SCRIPT = [
  mcp('list'),
  mcp('dispatch', { command: ['sh', '-c', 'echo hi > hi.txt'] }),
  mcp('wait', { run: 'latest', timeoutSeconds: 40 }),
  mcp('diff', { run: 'latest' }),
  mcp('apply', { run: 'latest' }),
  mcp('dispatch', { command: ['sleep', '600'] }),
  mcp('cancel', { run: 'latest', force: true }),
  { say: 'All is done.' },
];

async function serve(project: Project): Promise<{ url: string; token: string }> {
  const ask = async <T>(...args: string[]): Promise<T> =>
    JSON.parse((await project.caisson(...args, '-o', 'json')).stdout) as T;
  const { url } = await ask<{ url: string }>('ui', '--no-open');
  onTestFinished(async () => void (await project.caisson('down', '--now')));
  const { token } = await ask<{ token: string }>('tokens', 'create', 'agent', '--scope', 'run,decide');
  return { url: new URL('/mcp', url).href, token };
}

describe.skipIf(isSkipped)('an agent with caisson as its MCP server', { timeout: 180_000 }, () => {
  it.each(
    CLIENTS.flatMap((client) => [
      { client, name: client.name, over: 'stdio' },
      ...(client.addHttp === undefined ? [] : [{ client, name: client.name, over: 'http' }]),
    ]),
  )('$name runs, reads, applies and cancels over $over', async ({ client, over }) => {
    const model = await startModelServer({ apiKey: KEY, script: SCRIPT });
    onTestFinished(() => model.stop());
    const project = createProject();
    const env = { ...project.env, PATH: pathWithPinnedNode(), ...client.env(model.url) };
    const home = project.env['HOME'] ?? '';
    client.prepare(home, model.url);
    const pinned = PINNED_AGENTS.find(({ name }) => name === client.name);
    if (pinned === undefined) throw new Error(`${client.name} is not pinned`);
    const bin = await installAgent(pinned);
    const served = over === 'http' ? await serve(project) : null;
    const add = served === null ? client.add : (client.addHttp?.(served.url, served.token) ?? []);
    execFileSync(bin, add, { cwd: project.root, env, stdio: 'pipe' });
    const ran = await talk(bin, client.run, project, env);
    expect(ran.code, `${ran.stdout}${ran.stderr}`).toBe(0);
    expect(ran.stdout).toContain('All is done.');
    const runs = await until('both runs', async () => {
      const rows = await listRuns(project);
      return rows.length === 2 && rows.every(({ status }) => status !== 'running') ? rows : null;
    });
    const applied = runs.find(({ status }) => status === 'done');
    expect(runs.map(({ status }) => status).toSorted()).toEqual(['cancelled', 'done']);
    expect(readFileSync(join(project.root, 'hi.txt'), 'utf8')).toBe('hi\n');
    const asked = JSON.stringify(model.modelRequests().at(-1)?.body);
    expect(asked).toContain(applied?.runId);
    expect(asked).toMatch(/\\*"exitCode\\*":\s*0/);
    expect(asked).toMatch(/\+hi/);
    const acts = (await project.events(applied?.runId ?? '')).filter(({ type }) => type === 'visitor.acted');
    expect(acts.map(({ operation }) => operation)).toEqual(['dispatch', 'apply']);
  });
});

async function listRuns(project: Project): Promise<readonly { runId: string; status: string }[]> {
  const { stdout } = await project.caisson('runs', '-o', 'json');
  return JSON.parse(stdout) as { runId: string; status: string }[];
}

function talk(
  bin: string,
  args: readonly string[],
  project: Project,
  env: Record<string, string>,
): Promise<CliRun> {
  const child = spawn(bin, args, { cwd: project.root, env, stdio: ['pipe', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.end('List the runs, then start one and wait for it.\n');
  return finish(child);
}
