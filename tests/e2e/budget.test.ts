/** Budgets hold while a run is running; unknown cost is unknown; what failed is charged. */
import { startModelServer, type ModelServer } from '@caisson/testkit';
import { expect, it, onTestFinished } from 'vitest';
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
  const server = await startModelServer({
    apiKey: KEY,
    script: [
      { say: 'a step', tool: { intent: 'run-command', command: 'true' }, usage },
      { say: '', fault: '529' },
    ],
  });
  onTestFinished(() => server.stop());
  const result = await open(server).run('work', '--retries', '3', '--budget', '0.4');
  expect(result.failure).toMatchObject({ reason: 'budget-exceeded', detail: expect.stringMatching(/0.6/) });
  expect(server.usage().inputTokens).toBe(200_000);
}, 60_000);

it('lets several runs at once share the day, and stops them where it is spent', async () => {
  const usage = { inputTokens: 100_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const step = { tool: { intent: 'run-command' as const, command: 'sleep 0.3' }, usage };
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

it('books what a stopped run used, also when its agent never told it', async () => {
  const server = await serveOneStep(100_000);
  const project = open(server);
  const result = await project.run('work', '--timeout', '5s');
  expect(result).toMatchObject({
    failure: { reason: 'timeout' },
    result: { usage: { inputTokens: 100_000 } },
  });
  expect(result.costUsd).toBeCloseTo(0.3);
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
  expect(await standing()).toMatchObject({
    spentUsd: expect.closeTo(0.3),
    reservedUsd: 0,
    tokensIn: 100_000,
  });
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
