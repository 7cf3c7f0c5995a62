/** Real agents as clients of `caisson mcp`, configured as the guide says, with a scripted model. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
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
  readonly add: readonly string[];
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

describe.skipIf(isSkipped)('an agent with caisson mcp as its MCP server', { timeout: 180_000 }, () => {
  it.each(CLIENTS)('$name lists runs and starts one', async (client) => {
    const model = await startModelServer({
      apiKey: KEY,
      script: [
        { tool: { intent: 'mcp', tool: 'list', arguments: {} } },
        {
          tool: { intent: 'mcp', tool: 'dispatch', arguments: { command: ['sh', '-c', 'echo hi > hi.txt'] } },
        },
        { tool: { intent: 'mcp', tool: 'wait', arguments: { run: 'latest', timeoutSeconds: 40 } } },
        { say: 'The run has ended.' },
      ],
    });
    onTestFinished(() => model.stop());
    const project = createProject();
    const env = { ...project.env, PATH: pathWithPinnedNode(), ...client.env(model.url) };
    const home = project.env['HOME'] ?? '';
    client.prepare(home, model.url);
    const pinned = PINNED_AGENTS.find(({ name }) => name === client.name);
    if (pinned === undefined) throw new Error(`${client.name} is not pinned`);
    const bin = await installAgent(pinned);
    execFileSync(bin, client.add, { cwd: project.root, env, stdio: 'pipe' });
    const ran = await talk(bin, client.run, project, env);
    expect(ran.code, `${ran.stdout}${ran.stderr}`).toBe(0);
    expect(ran.stdout).toContain('The run has ended.');
    const [run] = await until('the run is listed', () => listRuns(project));
    expect(run).toMatchObject({ runtime: 'command', status: 'done' });
    const asked = JSON.stringify(model.modelRequests().at(-1)?.body);
    expect(asked).toContain(run?.runId);
    expect(asked).toMatch(/\\*"exitCode\\*":\s*0/);
    const { stdout } = await project.caisson('diff', run?.runId ?? '');
    expect(stdout).toContain('+hi');
  });
});

async function listRuns(project: Project): Promise<readonly { runId: string; status: string }[] | null> {
  const { stdout } = await project.caisson('runs', '-o', 'json');
  const rows = JSON.parse(stdout) as { runId: string; status: string }[];
  return rows.length === 0 ? null : rows;
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
