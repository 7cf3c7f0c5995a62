/** `caisson residents list|reset|drain|restart`. */
import type { ResidentView } from '@caisson/protocol';
import { defineCommand, type Command, type Example } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatResidents } from '../format-residents.ts';
import { withCaissonToRead, withCaissonToSteer } from '../with-caisson.ts';

export const list = defineCommand({
  usage: '',
  about:
    'The workers of senses and workflows. Each serves a key: senses.GROUP or workflow.NAME. A worker is started by its first\n' +
    'work; one that crashed 5 times in a minute is blocked until you reset it.',
  options: {},
  examples: [{ line: 'caisson residents list', says: 'Which run, what they take, and what went wrong.' }],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async ({ residents, config }) => {
      const found = await residents.list();
      const isDeclared = Object.keys({ ...config.senses, ...config.workflows }).length > 0;
      output.result(found, () =>
        formatResidents(found, { style: output.style, columns: output.wrapColumns(), isDeclared }),
      );
      return EXIT_CODES.finished;
    }),
});

type Verb = 'reset' | 'drain' | 'restart';

type Done = (before: ResidentView['state'] | undefined) => string;

function keyCommand(verb: Verb, done: Done, about: string, example: Example): Command {
  return defineCommand({
    usage: 'KEY',
    about: `${about}\nKEY is senses.GROUP or workflow.NAME; the name of a sense or workflow means its key.`,
    options: {},
    positionals: { min: 1, max: 1 },
    examples: [example],
    run: ({ options, positionals, output }) =>
      withCaissonToSteer(options['state-dir'], output, async ({ residents }) => {
        const [given = ''] = positionals;
        const before = findNamed(await residents.list(), given);
        await residents[verb](given);
        const resident = before?.key ?? given;
        output.result({ resident, outcome: verb }, () => [`${resident} ${done(before?.state)}`]);
        return EXIT_CODES.finished;
      }),
  });
}

/** What a key, a sense, a group or a workflow names. */
function findNamed(residents: readonly ResidentView[], given: string): ResidentView | undefined {
  const keys = [given, `senses.${given}`, `workflow.${given}`];
  return residents.find(({ key, serves }) => serves.includes(given) || keys.includes(key));
}

export const reset = keyCommand(
  'reset',
  (before) =>
    before === 'blocked' || before === 'unloadable'
      ? 'may work again'
      : 'was not blocked; its crashes are forgotten',
  'Lets a resident work again that is blocked, or whose file could not be loaded.',
  { line: 'caisson residents reset senses.ci', says: 'After its code was corrected.' },
);
export const drain = keyCommand(
  'drain',
  () => 'has finished what it did; what comes next gets a fresh worker',
  'Lets its worker finish what it does, waits for that, and ends it. What comes next gets a fresh one.',
  { line: 'caisson residents drain workflow.fix-build', says: 'A fresh worker, and nothing is lost.' },
);
export const restart = keyCommand(
  'restart',
  () => 'is started again',
  'Ends its worker now and starts it again: a compute is repeated, a thread goes on from its recorded steps. One that is\nblocked is refused: reset it.',
  { line: 'caisson residents restart senses.ci', says: 'When it hangs.' },
);
