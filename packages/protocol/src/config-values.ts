/** The kinds of values in `caisson.yaml`, each with a message for a wrong value. */
import * as z from 'zod/mini';

import { parseDuration, parseMemory, parseSize } from './units.ts';

/**
 * What a key of a project's file may do before its user agrees to it (`caisson trust`): `harmless` works at once; `ask`
 * has no effect; `may-lower` works as long as it is no more than the user's own value, or the default if the user has
 * none, and is asked about otherwise; `inside` is a map whose keys have marks.
 */
const TRUST_MARKS = ['harmless', 'ask', 'may-lower', 'inside'] as const;
export type TrustMark = (typeof TRUST_MARKS)[number];

/** A key of the configuration: its mark, its schema, and what it means. */
export const described = <T extends z.ZodMiniType>(trust: TrustMark, schema: T, description: string): T =>
  schema.check(z.meta({ description, trust }));

/** The same for an optional key. The mark is on the wrapper, which is new: copies of schemas cost time. */
export function optional<T extends z.ZodMiniType>(trust: TrustMark, schema: T, description: string) {
  const key = z.optional(schema);
  z.globalRegistry.add(key, { description, trust });
  return key;
}

/** The mark that {@link described} or {@link optional} gave to a schema; `null` if there is none. */
export function trustMarkOf(schema: object): TrustMark | null {
  const mark = z.globalRegistry.get(schema as z.core.$ZodType)?.['trust'];
  return TRUST_MARKS.find((known) => known === mark) ?? null;
}

export const text = (max = 4096) =>
  z.string().check(z.minLength(1), z.maxLength(max), z.regex(/^[^\0]*$/, 'must not contain a NUL character'));
export const list = <T extends z.ZodMiniType>(item: T, max = 256) => z.array(item).check(z.maxLength(max));
export const money = () => z.number().check(z.nonnegative());
export const count = (min: number, max: number) => z.int().check(z.gte(min), z.lte(max));
export const tokens = () => count(0, Number.MAX_SAFE_INTEGER);

/** A name that a person gives to an agent, bundle, capability or pipeline. */
export const ConfigName = z
  .string()
  .check(
    z.regex(/^[a-z0-9][a-z0-9._-]*$/, 'must be lowercase letters, digits, dots, dashes and underscores'),
    z.maxLength(128),
  );
export const named = <T extends z.ZodMiniType>(item: T) => z.record(ConfigName, item);

/** Where a secret is, never the secret: `env:NAME`, `file:PATH`, `exec:COMMAND` or another known scheme. */
export const SecretRef = z
  .string()
  .check(
    z.regex(
      /^[a-z][a-z0-9-]*:.+$/,
      'must say where the secret is (env:NAME, file:PATH or exec:COMMAND), not the secret itself',
    ),
    z.maxLength(4096),
  );

/** `30m`, `1h30m`, `500ms`, or a number of seconds; milliseconds once parsed. */
export const Duration = z.pipe(
  z.union([z.string(), z.number()], 'expected a duration, for example 90s or 1h30m'),
  withUnits(parseDuration),
);
/** A duration that may be `0s`. */
export const durationOrZero = () =>
  z.pipe(
    z.union([z.string(), z.number()], 'expected a duration, for example 90s, or 0s'),
    withUnits((text) => parseDuration(text, { minMs: 0 })),
  );
const sizeText = () => z.string('expected a size with its unit, for example 512m or 4g');

/** `4g` or `512m`; bytes once parsed. */
export const Size = z.pipe(sizeText(), withUnits(parseSize));

/** A size of at least a megabyte. */
export const Memory = z.pipe(sizeText(), withUnits(parseMemory));

/** An HTTP address, with or without TLS. */
export const address = () =>
  z.url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' });

export const variables = () => z.record(z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/)), z.string());

function withUnits<T extends string | number>(parse: (input: T) => number) {
  return z.transform<T, number>((input, context) => {
    try {
      return parse(input);
    } catch (error) {
      context.issues.push({
        code: 'custom',
        message: error instanceof Error ? error.message : String(error),
        input,
      });
      return z.NEVER;
    }
  });
}
