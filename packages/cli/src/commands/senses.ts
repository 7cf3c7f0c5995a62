/** `caisson senses list|show|trigger|logs`. */
import { UsageError } from '../usage-error.ts';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { defineLogs } from '../resident-logs.ts';
import { formatSense, formatSenses } from '../format-residents.ts';
import { findCause } from '../find-cause.ts';
import { formatDuration } from '../format-values.ts';
import { textLines } from '../painted.ts';
import { withCaisson, withCaissonToRead } from '../with-caisson.ts';

export const list = defineCommand({
  usage: '',
  about:
    'A sense is code of yours that watches something and emits signals. It is declared under senses: in caisson.yaml, needs\n' +
    'caisson trust, and runs in a sandbox while a daemon serves the project (caisson up -d). Guide: docs/guides/residents.md',
  options: {},
  examples: [{ line: 'caisson senses list', says: 'What is watched, how often, and what went wrong.' }],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async ({ residents, config }) => {
      const senses = await residents.senses();
      const isDeclared = Object.keys(config.senses).length > 0;
      output.result(senses, () =>
        formatSenses(senses, { style: output.style, columns: output.wrapColumns(), isDeclared }),
      );
      return EXIT_CODES.finished;
    }),
});

export const show = defineCommand({
  usage: 'SENSE',
  options: {},
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson senses show tests', says: 'When it computed last, and when it does next.' }],
  run: ({ options, positionals, output }) =>
    withCaissonToRead(options['state-dir'], output, async ({ residents }) => {
      const [name = ''] = positionals;
      const sense = (await residents.senses()).find((one) => one.name === name);
      if (sense === undefined)
        throw new UsageError(`there is no sense "${name}".`, { remedy: 'caisson senses list lists them.' });
      output.result(sense, () => formatSense(sense, output.style));
      return EXIT_CODES.finished;
    }),
});

export const trigger = defineCommand({
  usage: 'SENSE',
  about:
    'Asks for a compute now, waits for it, and prints what it emitted. Exit code 1 when the compute failed.',
  options: {},
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson senses trigger tests', says: 'Look now, not at the next interval.' }],
  run: ({ options, positionals, output }) =>
    withCaisson(
      options['state-dir'],
      async ({ residents }) => {
        const [name = ''] = positionals;
        const outcome = await residents.trigger(name);
        const problem = (await residents.senses()).find((one) => one.name === name)?.problem;
        if (problem !== undefined && outcome.failure === undefined)
          output.note(`warning: the old version computed; the new one does not load: ${findCause(problem)}`);
        const { durationMs, signals, failure } = outcome;
        output.result(outcome, () => [
          failure === undefined
            ? `computed in ${formatDuration(durationMs)}, ${signals.length} ${signals.length === 1 ? 'signal' : 'signals'}`
            : `failed after ${formatDuration(durationMs)} (${failure.kind}):`,
          ...(failure === undefined ? [] : textLines(failure.detail)),
          ...signals.flatMap(({ name, payload }) => textLines(`${name} ${JSON.stringify(payload) ?? ''}`)),
        ]);
        return failure === undefined ? EXIT_CODES.finished : EXIT_CODES.failed;
      },
      output,
    ),
});

export const logs = defineLogs('SENSE|WORKFLOW|KEY', {
  line: 'caisson senses logs tests -f',
  says: 'Follow what it says.',
});
