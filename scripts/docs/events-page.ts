import { BusPayloadSchemas, EVENTS, LIFECYCLE_TYPES, TERMINAL_TYPES } from '@caisson/protocol';
import * as z from 'zod/mini';

/** The reference page of all events of the ledger and topics of the bus. */
export function describeEvents(): string {
  const events = Object.entries(EVENTS).map(
    ([type, { version, durable, summary, data }]) =>
      `| \`${type}\` | ${describeKind(type)} | ${version} | ${durable ? 'yes' : 'no'} | ${summary} | ${listFields(data)} |`,
  );
  const topics = Object.entries(BusPayloadSchemas).map(
    ([topic, schema]) => `| \`${topic}\` | ${listFields(schema)} |`,
  );
  return [
    '# Events',
    '',
    'A run has exactly one `dispatch.accepted` and exactly one terminal event. Durable events are on disk before anyone',
    'receives them. Fields with a question mark may be missing.',
    '',
    '| event | kind | version | durable | meaning | data |',
    '|---|---|---|---|---|---|',
    ...events,
    '',
    '# Topics of the bus',
    '',
    'Published in the process that does the work; `caisson:extensions-reloaded` by the daemon.',
    '',
    '| topic | payload |',
    '|---|---|',
    ...topics,
    '',
  ].join('\n');
}

function describeKind(type: string): string {
  if ((TERMINAL_TYPES as readonly string[]).includes(type)) return 'terminal';
  return (LIFECYCLE_TYPES as readonly string[]).includes(type) ? 'lifecycle' : '';
}

function listFields(schema: z.ZodMiniType): string {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.keys(properties)
    .map((name) => `\`${name}${required.includes(name) ? '' : '?'}\``)
    .join(', ');
}
