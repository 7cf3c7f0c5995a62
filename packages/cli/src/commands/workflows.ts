/** `caisson workflows list|trigger|logs`. */
import { readFileSync } from 'node:fs';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatWorkflows } from '../format-residents.ts';
import { defineLogs } from '../resident-logs.ts';
import { reportStart } from '../report-start.ts';
import { UsageError } from '../usage-error.ts';
import { withCaisson, withCaissonToRead } from '../with-caisson.ts';

export const list = defineCommand({
  usage: '',
  about:
    'A workflow is code of yours that acts on signals: its roles run agents, wait, and ask. It is declared under workflows: in\n' +
    'caisson.yaml, needs caisson trust, and runs in a sandbox while a daemon serves the project (caisson up -d).',
  options: {},
  examples: [{ line: 'caisson workflows list', says: 'What there is, and how many threads each has.' }],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async ({ residents, config }) => {
      const workflows = await residents.workflows();
      const isDeclared = Object.keys(config.workflows).length > 0;
      output.result(workflows, () =>
        formatWorkflows(workflows, { style: output.style, columns: output.wrapColumns(), isDeclared }),
      );
      return EXIT_CODES.finished;
    }),
});

export const trigger = defineCommand({
  usage: 'WORKFLOW [--payload JSON|@FILE]',
  about:
    'Starts a thread, as a signal would, and prints its id. Exit code 1 when there was no room for it (see overflow).',
  options: {
    payload: {
      type: 'string',
      value: 'JSON|@FILE',
      summary: 'what the thread begins with: JSON, or a file with it; default null',
    },
    'idempotency-key': {
      type: 'string',
      value: 'KEY',
      summary: 'at most one thread for this key: a repeated command gives the first one',
    },
  },
  positionals: { min: 1, max: 1 },
  examples: [
    {
      line: `caisson workflows trigger fix-build --payload '{"failed":["a.test.ts"]}'`,
      says: 'Start one by hand, with what a signal would carry.',
    },
    { line: 'caisson workflows trigger fix-build', says: 'The same without a payload.' },
  ],
  run: ({ options, positionals, output }) =>
    withCaisson(
      options['state-dir'],
      async ({ residents }) => {
        const key = options['idempotency-key'];
        const started = await residents.startThread(
          positionals[0] ?? '',
          readPayload(options.payload),
          key === undefined ? {} : { idempotencyKey: key },
        );
        return reportStart(started, output, positionals[0]);
      },
      output,
    ),
});

export const logs = defineLogs('WORKFLOW|KEY', {
  line: 'caisson workflows logs fix-build -f',
  says: 'Follow what its roles say.',
});

function readPayload(given: string | undefined): unknown {
  if (given === undefined) return null;
  const text = given.startsWith('@') ? readFile(given.slice(1)) : given;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--payload is not JSON: ${(error as Error).message}`, {
      remedy: `For example: --payload '{"failed":2}', or --payload @FILE.`,
    });
  }
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--payload @${path} cannot be read: ${(error as Error).message}`);
  }
}
