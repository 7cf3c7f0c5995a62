/** All five real programs at once, eight times over, against a model server that is not the testkit's. */
import type { DispatchResult } from '@caisson/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, type Project } from '../e2e/project.ts';
import { KEY, processesIn, processesOf } from './agent-run.ts';
import { isSkipped, prepareAgent } from './agent-under-test.ts';
import { REPLY, startForeignModel, type ForeignModel } from './foreign-model.ts';

const AGENTS = ['claude-code', 'codex', 'gemini', 'opencode', 'pi'];
const AT_ONCE = 8;
const TASKS: readonly (readonly [task: string, ending: string | undefined])[] = [
  ['work', undefined],
  ['refuse', 'refusal'],
  ['cut', 'max-tokens'],
  ['busy', 'overloaded'],
  ['overflow', 'context-overflow'],
  ['work', undefined],
  ['refuse', 'refusal'],
  ['work', undefined],
];

async function runOne(project: Project, model: ForeignModel, [agent, task, cause, tag]: Wanted) {
  const ran = await project.run('--runtime', agent, '--retries', '0', `do it: task=${task} run=${tag}`);
  const events = await project.events(ran.runId);
  const connections = events.filter(({ type }) => type === 'network.connection');
  const diff = task === 'work' ? (await project.caisson('diff', ran.runId)).stdout : '';
  const isDone = cause === undefined;
  return {
    ran,
    actual: {
      ending: [ran.status, ran.failure?.reason, ran.failure?.cause, ran.reply === REPLY],
      files: [diff.includes('+ü'), diff.includes('+✓')],
      // An interrupted answer reported usage to some programs and not to others; everything else is counted to the
      // token.
      usage: task === 'busy' ? null : usageOf(ran),
      left: processesOf(ran.runId),
      elsewhere: connections.filter(({ target }) => target !== model.target),
    },
    expected: {
      ending: [isDone ? 'done' : 'error', isDone ? undefined : 'provider-failed', cause, isDone],
      files: [isDone, isDone],
      usage: task === 'busy' ? null : model.reported(tag),
      left: [],
      elsewhere: [],
    },
    label: `${agent}: ${task}`,
  };
}

type Wanted = readonly [agent: string, task: string, cause: string | undefined, tag: string];

function usageOf({ result }: DispatchResult) {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0 } = result?.usage ?? {};
  return { input: inputTokens, output: outputTokens, cached: cacheReadTokens };
}

if (isSkipped) process.stderr.write('CAISSON_SKIP_AGENTS=1: no agent meets the foreign model.\n');
describe.skipIf(isSkipped)('a model server that was not written for these agents', () => {
  it('forty runs end with their own reason, counted to the token, and call no other address', async () => {
    const model = await startForeignModel();
    onTestFinished(() => model.stop());
    const agents = await Promise.all(AGENTS.map((name) => prepareAgent(name)));
    const runtimes = agents.map((agent) => agent.config(model.url).replace('runtimes:\n', '')).join('');
    const config = `runtimes:\n${runtimes}limits: { concurrency: 4 }\n`;
    const project = createProject({ env: { MODEL_KEY: KEY }, config });
    const wanted = TASKS.flatMap(([task, cause], round) =>
      AGENTS.map((agent, index): Wanted => [agent, task, cause, `t${round}x${index}`]),
    );
    const outcomes: Awaited<ReturnType<typeof runOne>>[] = [];
    const worker = async (): Promise<void> => {
      for (let next = wanted.shift(); next !== undefined; next = wanted.shift())
        outcomes.push(await runOne(project, model, next));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(outcomes.map(({ label, actual }) => [label, actual])).toEqual(
      outcomes.map(({ label, expected }) => [label, expected]),
    );
    expect(outcomes).toHaveLength(AGENTS.length * TASKS.length);
    expect(processesIn(project.root)).toEqual([]);
    expect(model.strange).toEqual([]);
  }, 1_200_000);
});
