/** Budgets hold while a run is running; unknown cost is unknown; what failed is charged. */
import type { DispatchResult } from '@caisson/protocol';
import { startModelServer, type ModelServer } from '@caisson/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { installAgent, PINNED_AGENTS } from '../agents/install-agents.mjs';
import { createProject, finish, until, type Project } from './project.ts';

const KEY = 'sk-test-key-0123456789';

async function serve(turns: number, inputTokens: number): Promise<ModelServer> {
  const usage = { inputTokens, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const work = Array.from({ length: turns }, (_, index) => ({
    say: `step ${index}`,
    tool: { intent: 'run-command' as const, command: `echo ${index}; sleep 0.2` },
    usage,
  }));
  const server = await startModelServer({ apiKey: KEY, script: [...work, { say: 'done', usage }] });
  onTestFinished(() => server.stop());
  return server;
}

function open(server: ModelServer, extra = '', model = 'claude-sonnet-4-5'): Project {
  return createProject({
    env: { MODEL_KEY: KEY },
    config: `runtime: native\nruntimes:\n  native: { endpoint: "${server.url}", apiKey: "env:MODEL_KEY", model: ${model} }\n${extra}`,
  });
}

it('stops a run in the middle when its money is spent, and charges it', async () => {
  const project = open(await serve(20, 100_000));
  const result = await project.run('work', '--budget', '0.5');
  expect(result).toMatchObject({ status: 'budget_exceeded', failure: { reason: 'budget-exceeded' } });
  expect(result.exitCode).not.toBe(0);
  expect(result.cli.code).toBe(5);
  expect(result.costUsd).toBeGreaterThan(0.5);
  expect(result.costUsd).toBeLessThan(2);
  const { stdout } = await project.caisson('budget', '-o', 'json');
  expect((JSON.parse(stdout) as { standings: { spentUsd: number }[] }).standings[0]?.spentUsd).toBeCloseTo(
    result.costUsd ?? 0,
  );
}, 40_000);

it.each([
  ['--max-tokens', '150000'],
  ['--max-turns', '2'],
  ['--max-tool-calls', '2'],
])(
  'stops a run that passes %s %s',
  async (option, value) => {
    const project = open(await serve(20, 50_000));
    const result = await project.run('work', option, value);
    expect(result.failure?.reason).toBe('budget-exceeded');
  },
  40_000,
);

it('counts all attempts of a run against its caps', async () => {
  const usage = { inputTokens: 100_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const step = { say: 'a step', tool: { intent: 'run-command' as const, command: 'true' }, usage };
  const server = await startModelServer({
    apiKey: KEY,
    script: [{ when: 'work', turns: [step, { say: '', fault: '529' }] }], // of each attempt: each repeats the task
  });
  onTestFinished(() => server.stop());
  const result = await open(server).run('work', '--retries', '3', '--budget', '0.4');
  expect(result.result?.attempt).toBe(2);
  expect(result.failure).toMatchObject({ reason: 'budget-exceeded', detail: expect.stringMatching(/0.6/) });
  expect(server.usage().inputTokens).toBe(200_000);
}, 60_000);

it('lets several runs at once share the day, and stops them where it is spent', async () => {
  const usage = { inputTokens: 100_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const step = { tool: { intent: 'run-command' as const, command: 'sleep 0.6' }, usage };
  const server = await startModelServer({ apiKey: KEY, script: Array.from({ length: 9 }, () => step) });
  onTestFinished(() => server.stop());
  const project = open(server, 'budget: { perDayUsd: 2 }\nlimits: { concurrency: 8 }\n');
  const runs = await Promise.all(Array.from({ length: 3 }, () => project.run('work')));
  expect(runs.map(({ failure }) => failure?.reason)).toEqual(Array(3).fill('budget-exceeded'));
  for (const { failure } of runs) expect(failure?.detail).toMatch(/in day .*, the cap is \$2/);
  const spent = runs.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  expect(spent).toBeGreaterThan(2);
  expect(spent).toBeLessThan(2 + 3 * 0.31); // what was under way in each of them
}, 60_000);

/** Answers once, with that usage, and never again. */
async function serveOneStep(inputTokens: number): Promise<ModelServer> {
  const usage = { inputTokens, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const server = await startModelServer({
    apiKey: KEY,
    script: [
      { say: 'a step', tool: { intent: 'run-command', command: 'true' }, usage },
      { say: '', fault: 'stall' },
    ],
  });
  onTestFinished(() => server.stop());
  return server;
}

it('records what a stopped run used, also when its agent never reported it', async () => {
  const server = await serveOneStep(100_000);
  const project = open(server);
  const result = await project.run('work', '--timeout', '5s');
  const { estimated, inputTokens } = result.result?.usage ?? {};
  expect([result.failure?.reason, estimated]).toEqual([
    'timeout',
    { answers: 1, inputTokens: expect.any(Number), outputTokens: 0 }, // the request that was under way
  ]);
  expect(inputTokens).toBe(100_000 + (estimated?.inputTokens ?? 0));
  expect(result.costUsd).toBeGreaterThan(0.3);
  await expectMarked(project, result, /~\$0\.3\d/);
}, 60_000);

/** As an estimate, wherever it is shown, and in what is signed. */
async function expectMarked(project: Project, result: DispatchResult, cost: RegExp): Promise<void> {
  const { usage } = result.result ?? {};
  expect([result.costIsEstimate, usage?.estimated?.answers]).toEqual([true, 1]);
  const show = await project.caisson('show', result.runId);
  expect(show.stdout).toMatch(cost);
  expect(show.stdout).toMatch(/out are estimated \(1 answer did not report its usage\)/);
  for (const command of ['runs', 'budget'])
    expect([command, (await project.caisson(command)).stdout]).toEqual([
      command,
      expect.stringMatching(cost),
    ]);
  const [standing] = (
    JSON.parse((await project.caisson('budget', '-o', 'json')).stdout) as {
      standings: { estimatedCosts: number; tokensIn: number }[];
    }
  ).standings;
  expect(standing).toMatchObject({ estimatedCosts: 1, tokensIn: usage?.inputTokens });
  const ending = (await project.events(result.runId)).find(({ type }) => type.startsWith('dispatch.f'));
  expect(ending?.['usage']).toEqual(usage);
  expect((await project.caisson('verify', result.runId)).code).toBe(0);
}

const NOTHING = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

it('charges an answer that did not say what it used by an estimate, marks it everywhere, and counts it', async () => {
  const step = {
    say: 'a step',
    tool: { intent: 'run-command' as const, command: 'sleep 9' },
    usage: NOTHING,
  };
  const server = await startModelServer({ script: [step, { say: 'done' }], apiKey: KEY });
  onTestFinished(() => server.stop());
  const project = open(server, 'budget: { perDayTokens: 100 }\n');
  const result = await project.run('work');
  expect(result).toMatchObject({ failure: { reason: 'budget-exceeded' } });
  expect(result.costUsd).toBeGreaterThan(0);
  await expectMarked(project, result, /~\$0\.00\d\d/);
  expect((await project.caisson('run', 'work')).code).toBe(5);
}, 60_000);

it('shows no cost, not 0, for an estimate of a model whose price is unknown', async () => {
  const server = await startModelServer({ script: [{ say: 'done', usage: NOTHING }], apiKey: KEY });
  onTestFinished(() => server.stop());
  const project = open(server);
  const result = await project.run('work', '--model', 'a-model-of-ours');
  expect(result).toMatchObject({ status: 'done', costIsEstimate: true });
  expect([result.costUsd, result.result?.usage?.costUsd]).toEqual([undefined, undefined]);
  for (const args of [['show', result.runId], ['runs'], ['budget'], ['logs', result.runId]])
    expect((await project.caisson(...args)).stdout).not.toMatch(/\$0\.00(?!\s+no cap)/);
}, 60_000);

it('charges a run whose host was killed also where nothing is capped', async () => {
  const server = await serveOneStep(100_000);
  const project = open(server);
  await project.trust();
  const host = project.start('run', 'work');
  await until('the model is asked again', () => server.requests.length > 1);
  host.kill('SIGKILL');
  await finish(host);
  const { stdout } = await project.caisson('budget', '-o', 'json');
  expect((JSON.parse(stdout) as { standings: unknown[] }).standings).toMatchObject([
    { spentUsd: expect.closeTo(0.3) as number, reservedUsd: 0, unknownCosts: 0, estimatedCosts: 1 },
  ]);
}, 60_000);

it('shows every cap, and no unknown cost of plain commands', async () => {
  const project = createProject({ config: 'budget: { perDayTokens: 5000, perSessionTurns: 7 }\n' });
  expect((await project.run('--session', 's', '--', 'true')).status).toBe('done');
  const { stdout } = await project.caisson('budget', '--session', 's');
  const [, session = '', day = ''] = stdout.split('\n');
  expect(session).toMatch(/^session s +\$0\.00 +\$0\.00 +7 turns +0 +0 /);
  expect(day).toMatch(/^day \S+ +\$0\.00 +\$0\.00 +5000 tokens +0 +0 /);
}, 60_000);

it('charges a run whose host was killed with what it had used by then', async () => {
  const server = await serveOneStep(100_000);
  const project = open(server, 'budget: { perDayUsd: 1, perDayTokens: 100010 }\n');
  await project.trust();
  const host = project.start('run', 'work');
  await until('the model is asked again', () => server.requests.length > 1);
  host.kill('SIGKILL');
  await finish(host);
  const standing = async () => {
    const { stdout } = await project.caisson('budget', '-o', 'json');
    return (JSON.parse(stdout) as { standings: Record<string, unknown>[] }).standings[0];
  };
  await project.caisson('gc');
  const { tokensIn, ...rest } = (await standing()) ?? {};
  expect(rest).toMatchObject({ spentUsd: expect.closeTo(0.3), reservedUsd: 0 });
  // The answer that was under way is charged by its estimate.
  expect([Number(tokensIn) > 100_000, Number(tokensIn) < 102_000]).toEqual([true, true]);
  expect((await project.caisson('run', 'work')).code).toBe(5);
}, 60_000);

it('refuses a run when the day is spent, with exit code 5', async () => {
  const project = open(await serve(1, 1_000_000), 'budget: { perDayUsd: 1 }\n');
  await project.run('work');
  const second = await project.caisson('run', 'work');
  expect(second.code).toBe(5);
  expect(second.stderr).toMatch(/used up/);
}, 40_000);

it('holds a cap on the turns of a day, over several runs', async () => {
  const project = open(await serve(3, 100), 'budget: { perDayTurns: 5 }\n');
  expect((await project.run('work')).status).toBe('done');
  const second = await project.run('work');
  expect(second.failure).toMatchObject({
    reason: 'budget-exceeded',
    detail: expect.stringMatching(/in day/),
  });
  expect((await project.caisson('run', 'work')).code).toBe(5);
}, 40_000);

it('refuses a model of unknown price under a money cap, and shows its cost as unknown without one', async () => {
  const project = open(await serve(1, 100), '', 'my-own-model');
  const refused = await project.caisson('run', 'work', '--budget', '1');
  expect(refused.code).toBe(5);
  expect(refused.stderr).toMatch(/price of my-own-model is unknown/);
  const free = await project.run('work');
  expect(free.status).toBe('done');
  expect(free.costUsd).toBeUndefined();
  expect((await project.caisson('show', free.runId)).stdout).toContain('cost unknown');
}, 40_000);

it('ends a run at the first answer of a model without a price that the agent chose itself', async () => {
  const agent = PINNED_AGENTS.find(({ name }) => name === 'claude-code');
  if (agent === undefined) throw new Error('claude-code is not pinned');
  const server = await serve(20, 1000);
  const project = createProject({
    env: { MODEL_KEY: KEY },
    config: `runtimes:\n  claude-code: { bin: "${await installAgent(agent)}", endpoint: "${server.url}", apiKey: "env:MODEL_KEY", env: { ANTHROPIC_MODEL: claude-opus-5-5 } }\n`,
  });
  const result = await project.run('work', '--runtime', 'claude-code', '--budget', '0.05');
  expect([result.failure?.reason, result.cli.code]).toEqual(['budget-exceeded', 5]);
  expect(result.failure?.detail).toMatch(/the price of claude-opus-5-5 is unknown.*--model/);
  expect(server.modelRequests().length).toBeLessThan(4);
}, 60_000);

it('stops to retry what failed five times in the same way', async () => {
  const project = createProject();
  let { runId } = await project.run('--', 'sh', '-c', 'exit 9');
  for (let index = 0; index < 4; index += 1) {
    const again = await project.caisson('retry', runId, '-o', 'json');
    runId = (JSON.parse(again.stdout) as { runId: string }).runId;
  }
  const broken = await project.caisson('retry', runId);
  expect(broken.code).toBe(5);
  expect(broken.stderr).toMatch(/failed 5 times in a row/);
}, 40_000);
