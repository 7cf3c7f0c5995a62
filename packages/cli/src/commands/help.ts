import { defineCommand } from '../command.ts';
import { COMMANDS } from '../command-table.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatCommandHelp, formatOverview } from '../help-text.ts';
import { matchCommand } from '../parse-command-line.ts';

export const command = defineCommand({
  usage: '[COMMAND]',
  options: {},
  positionals: { min: 0, max: 2 },
  examples: [
    { line: 'caisson help', says: 'All commands.' },
    { line: 'caisson help config', says: 'The same as caisson config --help.' },
  ],
  async run({ positionals, output }) {
    if (positionals.length === 0) {
      output.line(formatOverview(COMMANDS, output.style));
      return EXIT_CODES.finished;
    }
    const { row } = matchCommand(positionals, COMMANDS);
    output.line(formatCommandHelp(row, (await row.load()).command, output.style));
    return EXIT_CODES.finished;
  },
});
