import { RUNTIME_DESCRIPTORS } from '@caisson/protocol';
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
      const runtime = (await caisson.runs()).find(({ runId }) => runId === caisson.find(run))?.runtime ?? '';
      const live = RUNTIME_DESCRIPTORS[runtime]?.canInject; // nobody but its adapter knows of one of the user's own
      const receipt = `sent as ${messageId}; channel.received in the log is the receipt`;
      output.result({ messageId, ...(live === undefined ? {} : { live }) }, () =>
        live === false ? [receipt, describeInbox(runtime)] : [receipt],
      );
      return EXIT_CODES.finished;
    }),
});

function describeInbox(runtime: string): string {
  return `${runtime} takes no message while it works: this one lies in .caisson/channel/inbox.jsonl, for the agent to look there`;
}
