import { Problem } from '@caisson/protocol';
import * as z from 'zod/mini';
import { ANSWERS, NAMED_ANSWERS } from '../../packages/engine/src/api/answers.ts';

export type Json = Record<string, unknown>;

const PLACE = '#/components/schemas/';
const ANSWER = 'answer-of-';

export interface ApiSchemas {
  /** By name, for the components of the description. */
  readonly components: Json;
  /** What an operation answers; null where that is no JSON. */
  answerOf(operation: string): Json | null;
}

/** Answers and what is named in them. Members may be added to an answer, so none is closed. */
export function createApiSchemas(): ApiSchemas {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries({ ...NAMED_ANSWERS, Problem })) registry.add(schema, { id });
  for (const [name, { schema }] of Object.entries(ANSWERS)) {
    // An answer that has a name of its own is registered once.
    if (schema !== undefined && !registry.has(schema)) registry.add(schema, { id: `${ANSWER}${name}` });
  }
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => `${PLACE}${id}`,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      delete jsonSchema.readOnly;
    },
  });
  const cleaned = Object.entries(schemas).map(([id, schema]) => [id, withoutHead(schema as Json)] as const);
  return {
    components: Object.fromEntries(cleaned.filter(([id]) => !id.startsWith(ANSWER))),
    answerOf(operation) {
      const { schema } = ANSWERS[operation as keyof typeof ANSWERS] ?? {};
      if (schema === undefined) return null;
      const id = registry.get(schema)?.id ?? '';
      return id.startsWith(ANSWER) ? (Object.fromEntries(cleaned)[id] ?? null) : { $ref: `${PLACE}${id}` };
    },
  };
}

/** Of one schema alone. A query is text: what it is read as is described, and `explode: false` says how lists are sent. */
export function toJson(schema: z.ZodMiniType, io: 'input' | 'output'): Json {
  const described = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    // Of our types; in a description it would say that the member is only for answers.
    override: ({ jsonSchema }) => void delete jsonSchema.readOnly,
  });
  return mergeFlags(withoutHead(described));
}

function withoutHead({ $schema: _dialect, $id: _id, ...schema }: Json): Json {
  return schema;
}

/** A flag is a boolean, or the text of one. */
function mergeFlags(schema: Json): Json {
  const { anyOf } = schema as { anyOf?: readonly Json[] };
  return anyOf?.every(({ type }) => type === 'boolean') === true ? { type: 'boolean' } : schema;
}
