import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { withCaisson } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'RUN "MESSAGE"',
  about:
    "Reaches a running agent: in its mailbox's channel/inbox.jsonl, and live where the runtime can take it.",
  options: {},
  positionals: { min: 2, max: 2 },
  examples: [
    { line: 'caisson send latest "skip the Windows tests"', says: 'Tell the newest run something.' },
  ],
  run: ({ options, positionals, output }) =>
    withCaisson(options['state-dir'], async (caisson) => {
      const [run = '', body = ''] = positionals;
      const messageId = await caisson.send(run, body);
      output.result({ messageId }, () => `sent as ${messageId}; channel.received in the log is the receipt`);
      return EXIT_CODES.finished;
    }),
});
