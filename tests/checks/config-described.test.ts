import { ConfigFile } from '@caisson/protocol';
import { expect, it } from 'vitest';
import * as z from 'zod/mini';

interface Part {
  description?: string;
  trust?: string;
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

/** Keys below `inside` have marks of their own; every other mark covers what is below it. */
it('every field of caisson.yaml says whether a project may set it unasked', () => {
  const schema = z.toJSONSchema(ConfigFile, { io: 'input', unrepresentable: 'any' }) as Part;
  expect([...listUnmarked(schema, '')]).toEqual([]);
});

it('a field without a mark is found', () => {
  const bare = z.strictObject({ ...ConfigFile.shape, hook: z.optional(z.string()) });
  const schema = z.toJSONSchema(bare, { io: 'input', unrepresentable: 'any' }) as Part;
  expect([...listUnmarked(schema, '')]).toEqual(['hook']);
});

function* listUnmarked(part: Part, prefix: string): Generator<string> {
  for (const [name, field] of Object.entries(part.properties ?? {})) {
    const key = `${prefix}${name}`;
    if (field.trust === undefined) yield key;
    if (field.trust !== 'inside') continue;
    const members = typeof field.additionalProperties === 'object' ? field.additionalProperties : field;
    if (members.properties === undefined) yield `${key} (inside, but no map of keys)`;
    yield* listUnmarked(members, `${key}.`);
  }
}

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
