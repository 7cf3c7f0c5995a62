/** All five real programs at once, eight times over, through one project with four slots and one model. */
import { join } from 'node:path';
import type { DispatchResult } from '@caisson/protocol';
import { startModelServer, type ScriptInput } from '@caisson/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, type Project } from '../e2e/project.ts';
import { filesWithKey, KEY, processesOf } from './agent-run.ts';
import { isSkipped, prepareAgent } from './agent-under-test.ts';

const AGENTS = ['claude-code', 'codex', 'gemini', 'opencode', 'pi'];
const TIMES = 8;
const SLOTS = 4;
/** More command lines than slots: the rest wait in the queue. */
const AT_ONCE = 8;
const usage = { inputTokens: 40, outputTokens: 7 };
const ASK = JSON.stringify({ question: 'Which one?' });

const SCRIPT: ScriptInput = [
  {
    when: 'write the file',
    turns: [
      { tool: { intent: 'write-file', path: 'made.txt', content: 'made\n' }, usage },
      { say: 'Written.', usage },
    ],
  },
  {
    when: 'push it',
    turns: [
      { tool: { intent: 'run-command', command: 'git push --force origin main' }, usage },
      { say: 'Not allowed.', usage },
    ],
  },
  {
    when: 'ask me',
    turns: [
      { tool: { intent: 'write-file', path: '.caisson/needs_input.json', content: ASK }, usage },
      { say: 'Asked.', usage },
    ],
  },
  { when: 'meet a busy model', turns: [{ fault: '529' }] },
];

/** Eight rounds of four tasks, and how each must end. */
const TASKS: readonly (readonly [task: string, status: string, cause: string | undefined])[] = [
  ['write the file', 'done', undefined],
  ['push it', 'done', undefined],
  ['ask me', 'waiting', undefined],
  ['meet a busy model', 'error', 'overloaded'],
];

interface Outcome {
  readonly label: string;
  readonly expected: unknown;
  readonly actual: unknown;
  /** Where it connected to, by its own record. */
  readonly targets: readonly string[];
  readonly result: DispatchResult;
}

if (isSkipped) process.stderr.write('CAISSON_SKIP_AGENTS=1: the five agents are not run all at once.\n');
describe.skipIf(isSkipped)('five agents at once, eight times over', () => {
  it('every run ends with its own reason, counted to the token, and leaves nothing', async () => {
    const model = await startModelServer({ script: SCRIPT, apiKey: KEY });
    onTestFinished(() => model.stop());
    const project = createProject({ env: { MODEL_KEY: KEY }, config: await configFor(model.url) });
    const wanted = Array.from({ length: TIMES }, (_, round) =>
      AGENTS.map((agent) => ({ agent, task: TASKS[round % TASKS.length] ?? TASKS[0] })),
    ).flat();
    const outcomes: Outcome[] = [];
    const worker = async (): Promise<void> => {
      for (let next = wanted.shift(); next !== undefined; next = wanted.shift())
        outcomes.push(await runOne(project, next.agent, next.task));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(outcomes.map(({ label, actual }) => [label, actual])).toEqual(
      outcomes.map(({ label, expected }) => [label, expected]),
    );
    expect(outcomes).toHaveLength(AGENTS.length * TIMES);
    expect(outcomes.flatMap(({ result }) => processesOf(result.runId))).toEqual([]);
    expect(sumOf(outcomes)).toEqual({ input: model.usage().inputTokens, output: model.usage().outputTokens });
    expect([...new Set(outcomes.flatMap(({ targets }) => targets))]).toEqual([
      `broker 127.0.0.1:${model.port}`,
    ]);
    expect(filesWithKey(join(project.root, '.caisson'))).toEqual([]);
    expect(outcomes.filter(({ result }) => JSON.stringify(result).includes(KEY))).toEqual([]);
    const strange = model.requests.filter(({ api, method }) => api === null && method !== 'HEAD');
    expect(strange.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  }, 1_200_000);
});

async function configFor(url: string): Promise<string> {
  const agents = await Promise.all(AGENTS.map((name) => prepareAgent(name)));
  const lines = agents.map((agent) => agent.config(url).replace('runtimes:\n', ''));
  return `runtimes:\n${lines.join('')}limits: { concurrency: ${SLOTS} }\n`;
}

async function runOne(
  project: Project,
  agent: string,
  [task, status, cause]: (typeof TASKS)[number] = ['', '', undefined],
): Promise<Outcome> {
  const result = await project.run('--runtime', agent, '--retries', '0', task);
  const connections = (await project.events(result.runId)).filter(
    ({ type }) => type === 'network.connection',
  );
  const reason = cause === undefined ? undefined : 'provider-failed';
  return {
    label: `${agent}: ${task}`,
    expected: [status, reason, cause],
    actual: [result.status, result.failure?.reason, result.failure?.cause],
    targets: connections.map((event) => `${String(event['via'])} ${String(event['target'])}`),
    result,
  };
}

function sumOf(outcomes: readonly Outcome[]): { input: number; output: number } {
  const all = outcomes.flatMap(({ result }) => result.result?.usage ?? []);
  return {
    input: all.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    output: all.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
  };
}
