/** Projects whose agents talk to a scripted model, for tests that take their daemon away. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer, type ModelServer, type ScriptInput, type ScriptTurn } from '@caisson/testkit';
import { onTestFinished } from 'vitest';
import { findAgentBin, installAgent, PINNED_AGENTS } from '../agents/install-agents.mjs';
import { createProject, until, type Project } from '../e2e/project.ts';

const KEY = 'sk-test-key-0123456789';
const MODEL = 'claude-sonnet-4-5';

export interface Agents {
  readonly project: Project;
  readonly model: ModelServer;
}

export async function createAgents(
  script: ScriptInput,
  { runtime = 'native', more = '' }: { runtime?: string; more?: string } = {},
): Promise<Agents> {
  const model = await startModelServer({ script, apiKey: KEY });
  onTestFinished(() => model.stop());
  const bin = await findBin(runtime);
  const project = createProject({
    env: { MODEL_KEY: KEY, CAISSON_HEARTBEAT_MS: '200' },
    config: [
      `runtime: ${runtime}`,
      `runtimes: { ${runtime}: { endpoint: "${model.url}", apiKey: "env:MODEL_KEY", model: ${MODEL}${bin} } }`,
      `agents: { worker: { runtime: ${runtime}, tools: ["*"] } }`,
      more,
      '',
    ].join('\n'),
  });
  return { project, model };
}

async function findBin(runtime: string): Promise<string> {
  const agent = PINNED_AGENTS.find(({ name }) => name === runtime);
  return agent === undefined ? '' : `, bin: "${findAgentBin(runtime) ?? (await installAgent(agent))}"`;
}

/** Begins a run and leaves it to the daemon. */
export async function detach({ project }: Pick<Agents, 'project'>, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await project.caisson('run', '--detach', '--retries', '0', ...args);
  if (stdout.trim() === '') throw new Error(stderr);
  return stdout.trim();
}

/** A command that goes on once the test has made the file. */
export const untilFile = (name: string): string =>
  `touch at-${name}; until [ -e ${name} ]; do sleep 0.05; done`;

export const command = (text: string): Pick<ScriptTurn, 'tool'> => ({
  tool: { intent: 'run-command', command: text },
});

export const usage = (inputTokens: number, outputTokens: number): Pick<ScriptTurn, 'usage'> => ({
  usage: { inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 },
});

/** Resolves when the agent of this run waits for that file. */
export async function untilAt(
  { project }: Pick<Agents, 'project'>,
  runId: string,
  name: string,
): Promise<void> {
  await until(`it waits for ${name}`, () => existsSync(join(filesOf(project, runId), `at-${name}`)), 20_000);
}

export function letGo({ project }: Pick<Agents, 'project'>, runId: string, name: string): void {
  writeFileSync(join(filesOf(project, runId), name), '');
}

const filesOf = ({ root }: Project, runId: string): string =>
  join(root, `.caisson/worktrees/${runId}.1/files`);
