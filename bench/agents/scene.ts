import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startModelServer } from '@caisson/testkit';

import { findAgentBin, pathWithPinnedNode } from '../../tests/agents/install-agents.mjs';
import { createScratch, timeProgram, type Scratch } from '../dispatch/scratch.ts';

export const CLI = fileURLToPath(new URL('../../packages/cli/bin/caisson.js', import.meta.url));
const KEY = 'sk-bench-0123456789abcdef0123';
export const EDIT = 'write hello.txt';
/** The same by a model that answers no faster than a real one does. */
const SLOW_EDIT = 'think, then create hello.txt';
/** Time to first byte of one answer; of hosted models few are faster. */
export const THINKING_MS = 1000;
export const WAIT = 'wait a while';
/** Long enough to look at all processes while the agent is in its tool, shorter than codex's own patience. */
export const WAITING = 'sleep 6.25';

export interface AgentScene {
  readonly scratch: Scratch;
  /** The command line of the agent alone, with the settings that our driver gives it. */
  bareCommand(task: string): readonly string[];
  /** Runs it. Resolves with milliseconds. */
  runBare(task: string): Promise<number>;
  /** The same through the command line, by a process of its own or by the daemon of the project. */
  runOurs(task: string, how: 'alone' | 'by daemon'): Promise<number>;
  /** Starts the daemon, and stops it behind the work. */
  withDaemon<T>(work: () => Promise<T>): Promise<T>;
  remove(): Promise<void>;
}

export const OURS = ['run', '-o', 'json', '--runtime', 'codex'];
/**
 * With a model that answers at once all that remains is what the programs themselves need. `atMost`: the time of one run;
 * `atLeast`: the throughput of sixteen.
 */
export const TASKS = [
  { task: EDIT, model: 'a model that answers at once', atMost: { alone: 1.8, byDaemon: 1.5 }, atLeast: 0.6 },
  {
    task: SLOW_EDIT,
    model: `a model that thinks ${THINKING_MS} ms a turn`,
    atMost: { alone: 1.1, byDaemon: 1.1 },
    atLeast: 0.85,
  },
];

/** Why there is no scene: then nothing is measured. */
export const NO_CODEX = 'codex is not installed here (node tests/agents/install-agents.mjs codex)';

/** `null` where codex is not installed. */
export async function createAgentScene(): Promise<AgentScene | null> {
  const bin = findAgentBin('codex');
  if (bin === null) return null;
  const usage = { inputTokens: 100, outputTokens: 20 };
  const model = await startModelServer({
    apiKey: KEY,
    script: [
      {
        when: EDIT,
        turns: [
          { tool: { intent: 'write-file', path: 'hello.txt', content: 'hello\n' }, usage },
          { say: 'Done.', usage },
        ],
      },
      {
        when: SLOW_EDIT,
        turns: [
          {
            tool: { intent: 'write-file', path: 'hello.txt', content: 'hello\n' },
            usage,
            afterMs: THINKING_MS,
          },
          { say: 'Done.', usage, afterMs: THINKING_MS },
        ],
      },
      {
        when: WAIT,
        turns: [
          { tool: { intent: 'run-command', command: WAITING }, usage },
          { say: 'Done.', usage },
        ],
      },
    ],
  });
  const scratch = createScratch('agents');
  const env = { ...scratch.env, PATH: pathWithPinnedNode(), MODEL_KEY: KEY };
  const scene = { ...scratch, env };
  writeProject(scene, model.url, bin);
  const caisson = (...args: string[]): Promise<number> =>
    timeProgram(process.execPath, [CLI, ...args], scene);
  return {
    scratch: scene,
    bareCommand: (task) => [bin, ...bareArguments(task)],
    runBare: (task) => timeProgram(bin, bareArguments(task), scene),
    runOurs: (task, how) => caisson(...OURS, ...(how === 'alone' ? ['--no-daemon'] : []), task),
    async withDaemon(work) {
      await caisson('up', '-d');
      try {
        return await work();
      } finally {
        await caisson('down', '--now');
      }
    },
    remove: async () => {
      await model.stop();
      scratch.remove();
    },
  };
}

const bareArguments = (task: string): string[] => [
  'exec',
  '--json',
  '--skip-git-repo-check',
  '--dangerously-bypass-approvals-and-sandbox',
  task,
];

function writeProject({ root, project, env }: Scratch, url: string, bin: string): void {
  writeFileSync(join(root, 'key'), KEY, { mode: 0o600 });
  writeFileSync(
    join(project, 'caisson.yaml'),
    `runtimes:\n  codex: { bin: "${bin}", endpoint: "${url}/v1", apiKey: "file:${join(root, 'key')}", model: "gpt-5" }\nlimits: { concurrency: 8 }\n`,
  );
  writeFileSync(join(project, 'README.md'), '# sample\n');
  mkdirSync(join(root, '.codex'));
  writeFileSync(join(root, '.codex', 'config.toml'), bareConfig(url));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=B', '-c', 'user.email=b@example.invalid', ...args], {
      cwd: project,
    });
  git('init', '-q', '-b', 'main');
  git('add', 'README.md', 'caisson.yaml');
  git('commit', '-qm', 'first');
  execFileSync(process.execPath, [CLI, 'trust', '--yes', '--send-key', url], {
    cwd: project,
    env,
    stdio: 'ignore',
  });
}

function bareConfig(url: string): string {
  return `model = "gpt-5"
model_provider = "bench"
check_for_update_on_startup = false
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
[model_providers.bench]
name = "bench"
base_url = "${url}/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
`;
}
