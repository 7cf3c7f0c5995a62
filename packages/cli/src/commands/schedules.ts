import { findDaemon } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatSchedules } from '../format-residents.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '',
  about:
    'Tasks and threads that start at their times: schedules: in caisson.yaml, with cron times, a time zone and the options of\n' +
    'run that need no person. A daemon starts them (caisson up -d), each time once. A time that was missed is made up for with\n' +
    'catchUp: latest, and marked as late.',
  options: {},
  examples: [
    { line: 'caisson schedules', says: 'When each starts next, and what became of the last time.' },
    { line: 'caisson schedules -o json', says: 'The same for a program.' },
  ],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async ({ residents, config }) => {
      const found = await residents.schedules();
      const schedules = found.toSorted((one, other) => (one.name < other.name ? -1 : 1));
      const isDeclared = Object.keys(config.schedules).length > 0;
      output.result(schedules, () =>
        formatSchedules(schedules, { style: output.style, columns: output.wrapColumns(), isDeclared }),
      );
      if (schedules.length > 0 && (await findDaemon({ stateDir: options['state-dir'] })).kind === 'none')
        output.note('No daemon serves this project, so none of them starts. To start one: caisson up -d');
      return EXIT_CODES.finished;
    }),
});
