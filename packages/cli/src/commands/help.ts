import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { describeCommand, formatCommandHelp, formatGroup, formatOverview } from '../help-text.ts';
import { findGroup, matchCommand } from '../parse-command-line.ts';

export const command = defineCommand({
  usage: '[COMMAND]',
  options: {},
  positionals: { min: 0, max: 2 },
  examples: [
    { line: 'caisson help', says: 'All commands.' },
    { line: 'caisson help config', says: 'The same as caisson config --help.' },
  ],
  async run({ positionals, output, rows }) {
    if (positionals.length === 0) {
      const commands = rows.map(({ name, summary }) => ({ name, summary }));
      output.result({ commands }, () => formatOverview(rows, output.style, output.columns()));
      return EXIT_CODES.finished;
    }
    const [first = '', second] = positionals;
    const group = second === undefined ? findGroup(first, rows) : [];
    if (group.length > 0) {
      const commands = group.map(({ name, summary }) => ({ name, summary }));
      output.result({ commands }, () => formatGroup(first, group, output.style, output.columns()));
      return EXIT_CODES.finished;
    }
    const { row } = matchCommand(positionals, rows);
    const { command: found } = await row.load();
    const help = () => formatCommandHelp(row, found, output.style, output.columns());
    output.result(describeCommand(row, found), help);
    return EXIT_CODES.finished;
  },
});
