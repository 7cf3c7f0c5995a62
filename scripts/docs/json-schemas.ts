import * as protocol from '@caisson/protocol';
import * as z from 'zod/mini';

/** Every schema that protocol exports, as JSON Schema 2020-12 of what may be written. */
export function* createJsonSchemas(): Generator<[string, string]> {
  for (const [name, value] of Object.entries(protocol).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (!isSchema(value)) continue;
    const schema = z.toJSONSchema(value, { target: 'draft-2020-12', io: 'input', unrepresentable: 'any' });
    yield [
      `schemas/${toKebabCase(name)}.schema.json`,
      `${JSON.stringify({ title: name, ...schema }, null, 2)}\n`,
    ];
  }
}

function isSchema(value: unknown): value is z.ZodMiniType {
  return typeof value === 'object' && value !== null && '_zod' in value;
}

function toKebabCase(name: string): string {
  return name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
}
