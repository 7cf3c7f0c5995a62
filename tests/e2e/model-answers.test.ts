/** What the broker saw of a model's answers is the truth: for heartbeats, for the ending, for retries and limits. */
import { chmodSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnvelope, type DispatchResult } from '@caisson/protocol';
import { startModelServer, type ModelServer, type ScriptInput } from '@caisson/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, ROOT, type Project } from './project.ts';

const KEY = 'sk-ant-real-Zq81xP0vTn55LmRw7YbKc2';

interface Stage {
  readonly project: Project;
  readonly model: ModelServer;
  run(...args: string[]): Promise<DispatchResult & { readonly code: number | null }>;
}

async function createStage(
  script: ScriptInput,
  options: { acceptedKey?: string; limits?: string; askTimes?: string; path?: string } = {},
): Promise<Stage> {
  const model = await startModelServer({ script, apiKey: options.acceptedKey ?? KEY });
  onTestFinished(() => model.stop());
  const served = `endpoint: "${model.url}${options.path ?? ''}", apiKey: "env:MODEL_KEY", model: "claude-sonnet-4-5"`;
  const env = `ASK_URL: "{endpoint}", ASK_KEY: "{key}", ASK_TIMES: "${options.askTimes ?? '1'}"`;
  const settings = `{ protocol: acp, api: anthropic-messages, env: { ${env} } }`;
  const project = createProject({
    env: { MODEL_KEY: KEY, CAISSON_HEARTBEAT_MS: '100' },
    config: `limits: { grace: 500ms${options.limits ?? ''} }
runtimes:
  native: { ${served} }
  asking: { bin: ./asking-agent.mjs, ${served}, settings: ${settings} }
`,
  });
  copyFileSync(join(ROOT, 'tests/e2e/fixtures/asking-agent.mjs'), join(project.root, 'asking-agent.mjs'));
  chmodSync(join(project.root, 'asking-agent.mjs'), 0o755);
  return {
    project,
    model,
    async run(...args) {
      const { code, stdout, stderr } = await project.caisson('run', '-o', 'json', ...args);
      if (stdout === '') throw new Error(`no result: ${stderr}`);
      return { ...(JSON.parse(stdout) as DispatchResult), code };
    },
  };
}

const usage = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens } });
const command = (text: string) => ({ tool: { intent: 'run-command', command: text } as const });

interface Counters {
  readonly toolCalls: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly currentTool: string | null;
}

function beatsOf(ndjson: string): Counters[] {
  return ndjson
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => parseEnvelope(JSON.parse(line)))
    .filter((event) => event.type === 'worker.heartbeat')
    .map(({ counters }) => counters);
}

const sum = (beats: readonly Counters[], key: 'toolCalls' | 'tokensIn' | 'tokensOut'): number =>
  beats.reduce((total, beat) => total + beat[key], 0);

describe('what the model answered', { timeout: 90_000 }, () => {
  it('is in the heartbeats, in the tool that runs, and in the time that it took', async () => {
    const { project } = await createStage([
      { ...command('sleep 1.5'), ...usage(700, 31), afterMs: 400 },
      { ...command('sleep 0.5'), ...usage(800, 22) },
      { say: 'Done.', ...usage(900, 5) },
    ]);
    const { stdout } = await project.caisson('run', '-o', 'ndjson', '--runtime', 'native', 'wait a little');
    const beats = beatsOf(stdout);
    const counted = [sum(beats, 'tokensIn'), sum(beats, 'tokensOut'), sum(beats, 'toolCalls')];
    expect([
      [1500, 53, 2],
      [2400, 58, 2],
    ]).toContainEqual(counted); // the last answer is reported if a beat follows it
    expect(beats.filter(({ currentTool }) => currentTool !== null).length).toBeGreaterThan(5);
    const [row] = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { runId: string }[];
    const shown = JSON.parse(
      (await project.caisson('show', row?.runId ?? '', '-o', 'json')).stdout,
    ) as DispatchResult;
    expect(shown.result?.usage).toMatchObject({ inputTokens: 2400, outputTokens: 58, toolCalls: 2 });
    expect(shown.result?.usage?.durationMs).toBeGreaterThanOrEqual(400);
    expect(shown.result?.usage?.durationMs).toBeLessThan((shown.durationMs ?? 0) - 1500);
  });

  it.each([
    ['401', 'auth'],
    ['529', 'overloaded'],
    ['500', 'api-error'],
    ['cut', 'stream-cut'],
  ] as const)('decides the ending of an agent that says it is done: %s', async (fault, cause) => {
    const { run } = await createStage([{ say: 'Never.', fault }]);
    const ran = await run('--runtime', 'asking', '--retries', '0', 'say it');
    expect([ran.code, ran.status, ran.exitCode]).toEqual([1, 'error', null]);
    expect(ran.failure).toMatchObject({ reason: 'provider-failed', cause });
  });

  it('leaves an agent in peace that got its answer in the end', async () => {
    const { run } = await createStage([{ say: 'At last.', fault: '529', times: 1 }], { askTimes: '2' });
    const ran = await run('--runtime', 'asking', '--retries', '0', 'say it');
    expect([ran.code, ran.status, ran.failure]).toEqual([0, 'done', undefined]);
  });
});

describe('an answer that is cut off once', { timeout: 90_000 }, () => {
  it('is asked for again by the native agent', async () => {
    const { run, model } = await createStage([
      { ...command('echo made > made.txt'), ...usage(50, 9) },
      { say: 'Made.', fault: 'cut', times: 1, ...usage(60, 7) },
    ]);
    const ran = await run('--runtime', 'native', '--retries', '0', 'make it');
    expect([ran.code, ran.failure, ran.reply]).toEqual([0, undefined, 'Made.']);
    expect(model.modelRequests()).toHaveLength(3);
    expect(ran.result?.usage?.inputTokens).toBe(170); // the answer that was cut off is paid for, too
  });

  it('ends no run of an agent that does not ask again: another attempt does', async () => {
    const { run, project } = await createStage([{ say: 'Said.', fault: 'cut', times: 1 }]);
    const ran = await run('--runtime', 'asking', 'say it');
    expect([ran.code, ran.failure, ran.reply]).toEqual([0, undefined, 'Said.']);
    expect(ran.total).toMatchObject({ attempts: 2 });
    const ended = (await project.events(ran.runId)).find(({ type }) => type === 'attempt.ended');
    expect(ended).toMatchObject({ failure: { reason: 'provider-failed', cause: 'stream-cut' } });
  });
});

describe('an agent that asks without end', { timeout: 90_000 }, () => {
  it.each(['500', 'cut', 'context-overflow', 'garbage'] as const)('is stopped: %s', async (fault) => {
    const { run, model } = await createStage([{ say: 'Never.', fault }], {
      askTimes: 'endless',
      limits: ', failedAnswers: 12',
    });
    const ran = await run('--runtime', 'asking', '--timeout', '60s', 'say it');
    expect(ran.failure).toMatchObject({ reason: 'provider-failed', cause: 'failed-answers' });
    expect(ran.failure?.detail).toMatch(/^\d\d requests in a row brought no answer/);
    // The agent asks on until the order reaches it; one that is not stopped asks thousands of times.
    expect(model.modelRequests().length).toBeLessThan(200);
  });

  it('makes no progress: a stall timeout sees it, however much it prints', async () => {
    const { run, project } = await createStage([{ say: 'Never.', fault: '500', afterMs: 100 }], {
      askTimes: 'endless',
      limits: ', failedAnswers: 10000',
    });
    const ran = await run('--runtime', 'asking', '--stall-timeout', '2s', '--timeout', '60s', 'say it');
    expect(ran.failure).toMatchObject({ reason: 'timeout', cause: 'stalled' });
    const stalls = (await project.events(ran.runId)).filter(({ type }) => type === 'run.stalled');
    expect(stalls.map(({ reason }) => reason)).toContain('model-failing');
  });

  it('spends: its cut answers count against a cap', async () => {
    const { run } = await createStage([{ say: 'Never.'.repeat(100), fault: 'cut' }], {
      askTimes: 'endless',
      limits: ', failedAnswers: 10000',
    });
    const ran = await run('--runtime', 'asking', '--max-tokens', '1000', '--timeout', '60s', 'say it');
    expect([ran.code, ran.failure?.reason]).toEqual([5, 'budget-exceeded']);
    expect(ran.result?.usage?.estimated?.answers).toBeGreaterThan(3);
  });
});

describe('a second attempt', { timeout: 90_000 }, () => {
  it('goes on from the work and the session of the first, and the run reports what both used', async () => {
    const { run, project, model } = await createStage([
      { when: 'go on from it', turns: [{ say: 'I went on.', ...usage(70, 8) }] },
      {
        when: 'draw it',
        turns: [
          { tool: { intent: 'write-file', path: 'sketch.txt', content: 'sketched\n' }, ...usage(50, 9) },
          { say: 'Never.', fault: '529', ...usage(60, 7) },
        ],
      },
    ]);
    const ran = await run('--runtime', 'native', 'draw it');
    expect([ran.code, ran.failure, ran.reply]).toEqual([0, undefined, 'I went on.']);
    expect((await project.caisson('diff', ran.runId)).stdout).toContain('+sketched');
    expect(JSON.stringify(model.modelRequests().at(-1)?.body)).toContain('sketch.txt');
    expect(ran.result?.usage).toMatchObject({ inputTokens: 70, outputTokens: 8, toolCalls: 0 });
    expect(ran.total).toMatchObject({
      attempts: 2,
      usage: { inputTokens: 120, outputTokens: 17, toolCalls: 1 },
    });
    expect(ran.total?.durationMs).toBeGreaterThan(ran.durationMs ?? 0);
    const shown = (await project.caisson('show', ran.runId)).stdout;
    expect(shown).toContain('all 2 attempts: 120 tokens in, 17 out');
    expect(shown).toContain('the last attempt: 70 tokens in, 8 out');
    const ending = (await project.events(ran.runId)).find(({ type }) => type === 'dispatch.finished');
    expect(ending?.['total']).toEqual(ran.total);
  });

  it('begins anew where no model had answered the first', async () => {
    const { run, model } = await createStage([{ say: 'Said.', fault: '529', times: 3 }]);
    const ran = await run('--runtime', 'native', 'say it');
    expect([ran.code, ran.reply, ran.total?.attempts]).toEqual([0, 'Said.', 2]);
    expect(JSON.stringify(model.modelRequests().at(-1)?.body)).not.toContain('go on from it');
  });
});

it('an endpoint that ends in /v1 is asked once for it', { timeout: 60_000 }, async () => {
  const { run, model } = await createStage([{ say: 'Said.' }], { path: '/v1' });
  expect(await run('--runtime', 'native', 'say it')).toMatchObject({ code: 0, reply: 'Said.' });
  expect(model.modelRequests().map(({ path }) => path.split('?', 1)[0])).toEqual(['/v1/messages']);
});
