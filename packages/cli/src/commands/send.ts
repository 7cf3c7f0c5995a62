import { definedOnly, RUNTIME_DESCRIPTORS } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { withCaissonToSteer } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'RUN "MESSAGE"',
  about:
    "Reaches a running agent: in its mailbox's channel/inbox.jsonl, and live if the runtime accepts messages.",
  options: {},
  positionals: { min: 2, max: 2 },
  examples: [
    { line: 'caisson send latest "skip the Windows tests"', says: 'Send a message to the newest run.' },
  ],
  run: ({ options, positionals, output }) =>
    withCaissonToSteer(options['state-dir'], output, async (caisson) => {
      const [run = '', body = ''] = positionals;
      const messageId = await caisson.send(run, body);
      const [sentTo] = await caisson.runs({ ids: [await caisson.find(run)] });
      const runtime = sentTo?.runtime ?? '';
      const live = RUNTIME_DESCRIPTORS[runtime]?.canInject; // only the adapter of a user's own runtime knows
      const receipt = `sent as ${messageId}; channel.received in the log is the receipt`;
      output.result({ messageId, ...definedOnly({ live }) }, () =>
        live === false ? [receipt, describeInbox(runtime)] : [receipt],
      );
      return EXIT_CODES.finished;
    }),
});

function describeInbox(runtime: string): string {
  return `${runtime} accepts no message while it works: this one is in .caisson/channel/inbox.jsonl, if the agent reads it`;
}
