import { ConfigFile } from '@caisson/protocol';
import { expect, it } from 'vitest';
import * as z from 'zod/mini';

interface Part {
  description?: string;
  properties?: Record<string, Part>;
  additionalProperties?: Part | boolean;
  items?: Part;
}

/** Blocks have their own schema, which the pipeline's page describes. */
const ELSEWHERE = /\.blocks\[\]/;

it('every field of caisson.yaml says what it means', () => {
  const schema = z.toJSONSchema(ConfigFile, { io: 'input', unrepresentable: 'any' }) as Part;
  const silent = [...listSilent(schema, '')].filter((key) => !ELSEWHERE.test(key));
  expect(silent).toEqual([]);
});

function* listSilent(part: Part, prefix: string): Generator<string> {
  for (const [name, field] of Object.entries(part.properties ?? {})) {
    const key = `${prefix}${name}`;
    if (field.description === undefined) yield key;
    yield* listSilent(field, `${key}.`);
    if (typeof field.additionalProperties === 'object')
      yield* listSilent(field.additionalProperties, `${key}.*.`);
    if (field.items !== undefined) yield* listSilent(field.items, `${key}[].`);
  }
}
