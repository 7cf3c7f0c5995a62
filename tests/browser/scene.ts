/** A small shop whose agents have worked: what the browser's tests look at, and what the pictures of the guide show. */
import { startModelServer, type ModelServerOptions } from '@caisson/testkit';
import { openProject, until, type Project } from '../e2e/open-project.ts';
import { PRICE, PRICE_TEST, SENSE, WORKFLOW } from './scene-files.ts';

export interface Scene {
  readonly project: Project;
  /** Of the dashboard, with a slash at its end. */
  readonly url: string;
  /** A link that signs one page in. */
  openLink(): Promise<string>;
  /** Starts a run in the background; resolves with its id. */
  start(...args: string[]): Promise<string>;
  /** Waits until `caisson show` says so of the run. */
  untilIs(runId: string, status: string): Promise<void>;
  /** Waits until it has ended, in whichever way. */
  untilEnded(runId: string): Promise<void>;
}

type Scripts = Extract<ModelServerOptions['script'], readonly { turns: unknown }[]>;

export const ROUNDS = 'Round prices to whole cents in every currency';
export const ASKS = 'Move the orders to another database';
export const DELETES = 'Remove the archive of last year';

const usage = { inputTokens: 6200, outputTokens: 840, cacheReadTokens: 21_000, cacheWriteTokens: 1800 };
const QUESTION = {
  question: 'Which database do the orders go to?',
  options: ['postgres', 'sqlite', 'keep the files'],
};

const SCRIPTS: Scripts = [
  {
    when: ROUNDS,
    turns: [
      { say: 'I look at the prices first.', tool: { intent: 'read-file', path: 'src/price.mjs' }, usage },
      {
        tool: {
          intent: 'edit-file',
          path: 'src/price.mjs',
          find: '  return net * (1 + rate);',
          replace: '  return roundCents(net * (1 + rate));',
        },
        usage,
      },
      {
        tool: {
          intent: 'edit-file',
          path: 'src/price.mjs',
          find: '  return prices.reduce((sum, price) => sum + price, 0);',
          replace: '  return roundCents(prices.reduce((sum, price) => sum + price, 0));',
        },
        usage,
      },
      { tool: { intent: 'write-file', path: 'test/price.test.mjs', content: PRICE_TEST }, usage },
      { tool: { intent: 'run-command', command: 'node --test' }, usage },
      {
        say: 'Prices and totals are rounded to whole cents. A test adds 0.1 and 0.2 three times and expects 0.9.',
        usage,
      },
    ],
  },
  {
    when: ASKS,
    turns: [
      {
        say: 'Two databases would fit.',
        tool: { intent: 'write-file', path: '.caisson/needs_input.json', content: JSON.stringify(QUESTION) },
        usage,
      },
      { say: 'I need to know which database to use.', usage },
    ],
  },
  {
    when: DELETES,
    turns: [
      {
        say: 'The archive of last year is not used.',
        tool: { intent: 'run-command', command: 'rm -rf archive/2025' },
        usage,
      },
      { say: 'It is gone.', usage },
    ],
  },
];

/** `more` goes before the scripts of the scene. */
export async function openScene(onEnd: (end: () => unknown) => void, more: Scripts = []): Promise<Scene> {
  const server = await startModelServer({ script: [...more, ...SCRIPTS] });
  onEnd(() => server.stop());
  const project = openProject(
    { folder: 'shop', env: { MODEL_KEY: 'scripted-key' }, config: configOf(server.url) },
    onEnd,
  );
  for (const [path, text] of Object.entries({
    'src/price.mjs': PRICE,
    'archive/2025/index.html': '<p>old\n',
    'senses/orders.ts': SENSE,
    'workflows/restock.ts': WORKFLOW,
  }))
    project.write(path, text);
  project.git('add', '-A');
  project.git('commit', '-qm', 'The shop');
  await project.trust();
  const read = async <T>(command: string, ...args: string[]): Promise<T> => {
    const { stdout, stderr } = await project.caisson(command, '-o', 'json', ...args);
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout) as T;
  };
  const openPages = () => read<{ url: string; link: string }>('ui', '--no-open');
  const { url } = await openPages();
  const statusOf = async (runId: string) => (await read<{ status: string }>('show', runId)).status;
  onEnd(() => project.caisson('down', '--now'));
  return {
    project,
    url,
    openLink: async () => (await openPages()).link,
    start: async (...args) => (await read<{ runId: string }>('run', '--detach', ...args)).runId,
    async untilIs(runId, status) {
      await until(`${runId} is ${status}`, async () => (await statusOf(runId)) === status, 60_000);
    },
    async untilEnded(runId) {
      const isEnded = async () => !['queued', 'running'].includes(await statusOf(runId));
      await until(`${runId} has ended`, isEnded, 60_000);
    },
  };
}

function configOf(endpoint: string): string {
  return [
    'runtimes:',
    `  native: { endpoint: "${endpoint}", apiKey: env:MODEL_KEY, model: claude-sonnet-4-5 }`,
    'budget: { perDayUsd: 25, perDayTokens: 4000000, perDayToolCalls: 500 }',
    'limits: { concurrency: 4 }',
    'senses: { orders: { file: senses/orders.ts, interval: 1h } }',
    'workflows: { restock: { file: workflows/restock.ts, on: [low] } }',
    'schedules:',
    '  nightly: { cron: "0 3 * * *", timezone: UTC, task: Update the docs }',
    '',
  ].join('\n');
}

/** Runs of every kind, in the order in which a person would start them; resolves with their ids. */
export async function fillScene({ project, start, untilIs }: Scene) {
  const native = ['--runtime', 'native', '--mode', 'full-auto'];
  const rounds = await start(...native, '--session', 'prices', '--verify', 'node --test', ROUNDS);
  const fails = await start('--session', 'release', '--', 'sh', '-c', FAILS);
  const asks = await start(...native, '--session', 'orders', ASKS);
  const deletes = await start(...native, '--session', 'release', DELETES);
  await untilIs(rounds, 'done');
  await untilIs(fails, 'error');
  await untilIs(asks, 'waiting');
  await untilIs(deletes, 'running');
  await until('its call', async () => (await project.caisson('approvals')).stdout.includes('rm -rf'));
  await project.caisson('workflows', 'trigger', 'restock', '--payload', '{"item":"tea"}');
  return { rounds, fails, asks, deletes };
}

const FAILS = `printf '\\033[1;32m✔\\033[0m 41 files checked\\n\\033[1;31m✘\\033[0m src/cart.mjs: \\033[33munused\\033[0m name\\n'; exit 3`;
