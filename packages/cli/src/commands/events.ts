import type { FollowOptions } from '@caisson/engine';
import { definedOnly, EVENTS, toWire, type EventEnvelope, type EventType } from '@caisson/protocol';
import { sourceOf, toCloudEvent } from '../cloud-event.ts';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { printableJson } from '../printable.ts';
import { UsageError } from '../usage-error.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[-f] [--after OFFSET] [--run RUN]… [--type TYPE]… [--format ndjson|cloudevents] [--source URI]',
  about:
    'For programs: what is recorded in this project, one JSON object a line, in the order of offsets. With -f also what comes,\n' +
    'and what is only published (offset 0: progress, heartbeats), until Ctrl-C; without --after from now on. Remember the\n' +
    'last offset above 0, and --after continues behind it: nothing recorded is missed, and nothing comes twice, whichever\n' +
    'process drives the runs, with and without a daemon. For people there is caisson logs.',
  options: {
    follow: { type: 'boolean', short: 'f', summary: 'continue with what comes' },
    after: {
      type: 'string',
      value: 'OFFSET',
      summary: 'only what was recorded after this; 0 for everything',
    },
    run: { type: 'string', multiple: true, value: 'RUN', names: 'runs', summary: 'only of this run' },
    type: {
      type: 'string',
      multiple: true,
      value: 'TYPE',
      summary: 'only events of this type, for example dispatch.finished; docs/reference/events.md has all',
    },
    format: {
      type: 'string',
      value: 'FORMAT',
      choices: ['ndjson', 'cloudevents'],
      summary: 'ndjson as logs -o ndjson prints it, or CloudEvents 1.0; default ndjson',
    },
    source: {
      type: 'string',
      value: 'URI',
      summary: 'source of the CloudEvents; default a file: URI with this machine and the state folder',
    },
  },
  examples: [
    { line: 'caisson events --type dispatch.finished', says: 'How every run that finished ended.' },
    { line: 'caisson events -f --after 120', says: 'Continue behind an offset, then follow.' },
    {
      line: 'caisson events -f --format cloudevents | node post-events.mjs https://example.org/hook',
      says: 'Send each event to a webhook.',
    },
  ],
  run: ({ options, output }) => {
    if (output.format === 'json')
      throw new UsageError('events prints one JSON object a line', {
        remedy: 'Use --format, and no -o json.',
      });
    const { follow, after, run, type, format, source } = options;
    const choice: FollowOptions = {
      signal: output.closed,
      onlyRecorded: !follow,
      ...definedOnly({
        after: after === undefined ? undefined : readOffset(after),
        runs: run.length === 0 ? undefined : run,
        types: type.length === 0 ? undefined : type.map(readType),
      }),
    };
    return withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const from = source ?? sourceOf(caisson.config.stateDir);
      const write = format === 'cloudevents' ? (event: EventEnvelope) => toCloudEvent(event, from) : toWire;
      for await (const event of caisson.follow(choice)) await writeLine(output, write(event));
      return EXIT_CODES.finished;
    });
  },
});

function readOffset(text: string): number {
  const offset = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(offset) && offset >= 0) return offset;
  throw new UsageError(`--after needs an offset, got "${text}"`, {
    remedy: 'Each event has one: "offset".',
  });
}

function readType(word: string): EventType {
  const name = word.replace(/^caisson\./, '');
  if (Object.hasOwn(EVENTS, name)) return name as EventType;
  throw new UsageError(`there is no event "${word}"`, { remedy: 'docs/reference/events.md lists them.' });
}

/** Waits for a slow reader instead of keeping what it has not read. */
async function writeLine(output: Output, value: object): Promise<void> {
  await output.pass('stdout', [Buffer.from(`${printableJson(JSON.stringify(value))}\n`)]);
}
