/** One real agent, one scripted model and one project; and what must hold after every run, however it ended. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { DispatchResult } from '@caisson/protocol';
import { startModelServer, type ModelServer, type ScriptInput } from '@caisson/testkit';
import { expect, onTestFinished } from 'vitest';
import { createProject, finish, until, type CliRun, type Project } from '../e2e/project.ts';
import type { AgentUnderTest } from './agent-under-test.ts';

export const KEY = 'sk-real-3kQ9vXz7Lw2Tn8Rb5Yc1Hd6';

export interface Stage {
  readonly agent: AgentUnderTest;
  readonly project: Project;
  readonly model: ModelServer;
  /** Runs a task to its end and checks what must always hold. */
  run(task: string, ...options: string[]): Promise<AgentRun>;
  /** The same for any command that prints a result: `answer`, `retry`. */
  follow(...args: string[]): Promise<AgentRun>;
  /** Starts a task and hands over its id while it runs. */
  begin(task: string, ...options: string[]): Promise<{ runId: string; end: () => Promise<AgentRun> }>;
}

export type AgentRun = DispatchResult & { readonly cli: CliRun };

export interface StageOptions {
  readonly script: ScriptInput;
  /** The key that the model accepts; the run has `KEY`. */
  readonly acceptedKey?: string;
  readonly config?: string;
}

export async function createStage(agent: AgentUnderTest, options: StageOptions): Promise<Stage> {
  const model = await startModelServer({ script: options.script, apiKey: options.acceptedKey ?? KEY });
  onTestFinished(() => model.stop());
  const project = createProject({
    env: { MODEL_KEY: KEY },
    config: agent.config(model.url) + (options.config ?? ''),
  });
  const optionsOf = (more: readonly string[]) => ['-o', 'json', '--runtime', agent.name, ...more];
  const conclude = async (cli: CliRun): Promise<AgentRun> => {
    const ran = { ...parseResult(cli), cli };
    await expectClean(project, model, ran.runId);
    return ran;
  };
  return {
    agent,
    project,
    model,
    run: async (task, ...more) => conclude(await project.caisson('run', ...optionsOf(more), task)),
    follow: async (...args) => conclude(await project.caisson(...args, '-o', 'json')),
    begin: async (task, ...more) => {
      await project.trust();
      const cli = finish(project.start('run', ...optionsOf(more), task));
      const runId = await until('the run is listed', () => newestRun(project));
      return { runId, end: async () => conclude(await cli) };
    },
  };
}

function parseResult(cli: CliRun): DispatchResult {
  try {
    return JSON.parse(cli.stdout) as DispatchResult;
  } catch {
    throw new Error(`no result on stdout (exit ${cli.code}): ${cli.stdout}${cli.stderr}`);
  }
}

async function newestRun(project: Project): Promise<string | null> {
  const { stdout } = await project.caisson('runs', '-o', 'json');
  const rows = JSON.parse(stdout === '' ? '[]' : stdout) as { runId: string }[];
  return rows[0]?.runId ?? null;
}

/** After any ending: nothing runs, no other address was called, and the key is nowhere. */
async function expectClean(project: Project, model: ModelServer, runId: string): Promise<void> {
  expect([...processesOf(runId), ...processesIn(project.root)]).toEqual([]);
  const connections = (await project.events(runId)).filter(({ type }) => type === 'network.connection');
  for (const connection of connections)
    expect(connection).toMatchObject({ via: 'broker', target: `127.0.0.1:${model.port}` });
  expect(connections.filter(({ verdict }) => verdict === 'denied')).toEqual([]);
  const strange = model.requests.filter(({ api, method }) => api === null && method !== 'HEAD');
  expect(strange.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  expect(filesWithKey(join(project.root, '.caisson'))).toEqual([]);
}

/** Every process that carries the run's mark in its environment. */
export function processesOf(runId: string): string[] {
  return findProcesses((folder) =>
    readFileSync(`${folder}/environ`, 'utf8').includes(`CAISSON_MARKER=${runId}.`),
  );
}

/** Every process that works in the folder, also one that has thrown its environment away. */
export function processesIn(root: string): string[] {
  return findProcesses((folder) => `${readlinkSync(`${folder}/cwd`)}/`.startsWith(`${root}/`));
}

function findProcesses(isMeant: (folder: string) => boolean): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (!isMeant(`/proc/${pid}`)) return [];
        return [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`];
      } catch {
        return []; // it ended while we looked, or is another user's
      }
    });
}

/** Files that hold the real key. There must be none. */
export function filesWithKey(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(KEY));
}

/** What the run says it used is what the model counted. */
export function expectUsage({ model }: Stage, ...runs: readonly AgentRun[]): void {
  const reported = runs
    .map((ran) => ran.result?.usage)
    .reduce(
      (sum, usage) => ({
        inputTokens: sum.inputTokens + (usage?.inputTokens ?? 0),
        outputTokens: sum.outputTokens + (usage?.outputTokens ?? 0),
        cacheReadTokens: sum.cacheReadTokens + (usage?.cacheReadTokens ?? 0),
        cacheWriteTokens: sum.cacheWriteTokens + (usage?.cacheWriteTokens ?? 0),
      }),
      { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
    );
  expect(reported).toEqual(model.usage());
}
