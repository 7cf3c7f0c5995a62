import * as protocol from '@caisson/protocol';
import * as z from 'zod/mini';

/** Every schema of protocol, as JSON Schema 2020-12 of what may be written. */
export function* createJsonSchemas(): Generator<[string, string]> {
  for (const [name, value] of Object.entries(protocol).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (isSchema(value)) yield page(toKebabCase(name), name, value);
  }
  // Looked up by a word instead of exported by a name: each has a page under its word.
  for (const [kind, schema] of Object.entries(protocol.WORKER_LINES))
    yield page(`worker-lines/${kind}`, kind, schema);
  for (const [topic, schema] of Object.entries(protocol.BusPayloadSchemas))
    yield page(`bus/${topic.replace(/^caisson:/, '')}`, topic, schema);
  for (const [type, { data }] of Object.entries(protocol.EVENTS)) yield page(`events/${type}`, type, data);
}

function page(place: string, title: string, value: z.ZodMiniType): [string, string] {
  const schema = z.toJSONSchema(value, { target: 'draft-2020-12', io: 'input', unrepresentable: 'any' });
  return [`schemas/${place}.schema.json`, `${JSON.stringify({ title, ...schema }, null, 2)}\n`];
}

function isSchema(value: unknown): value is z.ZodMiniType {
  return typeof value === 'object' && value !== null && '_zod' in value;
}

function toKebabCase(name: string): string {
  return name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
}
