/** `caisson threads list|show|cancel|resume`. */
import { ThreadStatus } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatThread, formatThreads, listAnswered } from '../format-threads.ts';
import { reportStart } from '../report-start.ts';
import { UsageError } from '../usage-error.ts';
import { withCaisson, withCaissonToRead, withCaissonToSteer } from '../with-caisson.ts';

const STATUSES = ThreadStatus.def.options.flatMap(({ options }) => options);
const DEFAULT_LIMIT = 20;

export const list = defineCommand({
  usage: '[--workflow NAME] [--status STATUS] [--limit N]',
  about:
    'The threads of workflows, the newest first. They are records, so this needs no daemon; without one none goes on.',
  options: {
    workflow: { type: 'string', value: 'NAME', summary: 'only threads of this workflow' },
    status: {
      type: 'string',
      value: 'STATUS',
      multiple: true,
      choices: STATUSES,
      summary: 'only threads with this status',
    },
    limit: { type: 'string', value: 'N', summary: `at most so many; default ${DEFAULT_LIMIT}` },
  },
  examples: [
    { line: 'caisson threads list', says: 'What happened lately.' },
    { line: 'caisson threads list --status waiting', says: 'Which wait for an agent, an answer or a time.' },
  ],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const { workflow, status } = options;
      const threads = await caisson.residents.threads({
        newestFirst: true,
        limit: readLimit(options.limit),
        ...(workflow === undefined ? {} : { workflow }),
        ...(status.length === 0 ? {} : { status: status.map(readStatus) }),
      });
      const isAsking = threads.some(({ waitsFor = [] }) => waitsFor.some(({ kind }) => kind === 'ask'));
      const answered = listAnswered(isAsking ? await caisson.questions({ status: 'answered' }) : []);
      output.result(threads, () => formatThreads(threads, output.style, output.wrapColumns(), answered));
      return EXIT_CODES.finished;
    }),
});

function readStatus(text: string): ThreadStatus {
  const status = STATUSES.find((one) => one === text);
  if (status !== undefined) return status;
  throw new UsageError(`--status: "${text}" is unknown.`, { remedy: `Choose from ${STATUSES.join(', ')}.` });
}

function readLimit(text: string | undefined): number {
  const limit = Number(text ?? DEFAULT_LIMIT);
  if (!Number.isInteger(limit) || limit < 1)
    throw new UsageError(`--limit needs a number, got "${text ?? ''}"`);
  return limit;
}

export const show = defineCommand({
  usage: 'THREAD',
  about: 'Its messages, its runs and what it waits for. THREAD is an id, a unique part of one, or latest.',
  options: {},
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson threads show latest', says: 'The newest one.' }],
  run: ({ options, positionals, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const thread = await caisson.residents.thread(positionals[0] ?? '');
      const all = thread.status === 'waiting' ? await caisson.questions() : [];
      const asked = all.filter(({ runId }) => runId === thread.threadId);
      output.result(thread, () => formatThread(thread, asked, output.style));
      return EXIT_CODES.finished;
    }),
});

export const cancel = defineCommand({
  usage: 'THREAD',
  about: 'Ends a thread and the runs that it waits for. Exit code 1 when it had ended already.',
  options: {},
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson threads cancel latest', says: 'Stop the newest one.' }],
  run: ({ options, positionals, output }) =>
    withCaissonToSteer(options['state-dir'], output, async ({ residents }) => {
      const { threadId } = await residents.thread(positionals[0] ?? '');
      const isCancelled = await residents.cancelThread(threadId);
      output.result({ threadId, isCancelled }, () => [
        isCancelled ? `${threadId} is cancelled` : `${threadId} had ended already`,
      ]);
      return isCancelled ? EXIT_CODES.finished : EXIT_CODES.failed;
    }),
});

export const resume = defineCommand({
  usage: 'THREAD',
  about:
    'Starts a new thread that begins with the messages of an ended one, for example after its workflow was corrected. A\n' +
    'thread that has not ended goes on by itself.',
  options: {},
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson threads resume latest', says: 'Go on from the last message.' }],
  run: ({ options, positionals, output }) =>
    withCaisson(
      options['state-dir'],
      async ({ residents }) => reportStart(await residents.resumeThread(positionals[0] ?? ''), output),
      output,
    ),
});
