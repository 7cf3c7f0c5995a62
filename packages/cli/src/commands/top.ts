import type { Caisson } from '@caisson/engine';
import { canAsk } from '../ask-on-terminal.ts';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatOnce } from '../top/draw-top.ts';
import { readResidents, readRuns } from '../top/read-top.ts';
import { createTopState, listShown, SORTS, takeData, type Sort, type TopState } from '../top/top-state.ts';
import { watchTop } from '../top/watch-top.ts';
import type { Output } from '../output.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--sort COLUMN] [--filter TEXT] [--open-only] [--once]',
  about:
    'A live table of the runs of this project: what each does now, its tokens and cost, the CPU and memory of its processes,\n' +
    'its health, its place in the queue, and what waits for you. A line above it sums up residents, threads and schedules.\n' +
    'Keys: enter opens a run (what it does, its events, what its agent prints), a and d allow and deny the call that waits,\n' +
    'c cancels the run, s and r sort, / filters, e hides what has ended, ? explains all keys, q quits. Nothing is allowed,\n' +
    'denied or cancelled before you confirm it with y. Quitting ends no run. Works with and without a daemon.\n' +
    'Not on a terminal, and with --once, the table is printed once; -o json prints one object with runs and residents.',
  options: {
    sort: {
      type: 'string',
      value: 'COLUMN',
      choices: SORTS,
      summary: 'the order to begin with; default state: what waits for you first',
    },
    filter: {
      type: 'string',
      value: 'TEXT',
      summary: 'only runs with this in their id, task, runtime, agent, session, state or tool',
    },
    'open-only': { type: 'boolean', summary: 'hide runs that have ended' },
    once: { type: 'boolean', summary: 'print the table once, also on a terminal' },
  },
  examples: [
    { line: 'caisson top', says: 'Watch all runs, and decide what waits, until q.' },
    { line: 'caisson top --sort cost --filter reviewer', says: 'What the reviewer costs, most first.' },
    { line: 'caisson top --once --open-only', says: 'What runs now, for a script or a note.' },
    { line: 'caisson top -o json', says: 'The same for a program.' },
  ],
  async run({ options, output }) {
    const { sort = 'state', filter = '', once, 'open-only': openOnly, 'state-dir': stateDir } = options;
    const first = createTopState({ sort: sort as Sort, filter, showsEnded: !openOnly });
    if (!once && canAsk(output)) await watchTop(first, stateDir, output);
    else await withCaissonToRead(stateDir, output, (caisson) => printOnce(caisson, first, output));
    return EXIT_CODES.finished;
  },
});

async function printOnce(caisson: Caisson, first: TopState, output: Output): Promise<void> {
  const data = { runs: await readRuns(caisson), residents: await readResidents(caisson) };
  const state = { ...takeData(first, data), selected: null };
  output.result({ runs: listShown(state), residents: data.residents }, () =>
    formatOnce(state, output.style, output.wrapColumns(), Date.now()),
  );
}
