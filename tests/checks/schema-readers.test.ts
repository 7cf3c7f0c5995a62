/** The functions that the build writes from schemas: they accept, refuse and return exactly what the schemas do. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  readControlMessage,
  readGuestLine,
  readJob,
  readResidentJob,
  readResidentOrder,
} from '../../packages/protocol/src/readers.ts';
import { expect, it } from 'vitest';
import * as z from 'zod/mini';
import { ROOT } from '../e2e/project.ts';

const readers = { readJob, readControlMessage, readResidentJob, readResidentOrder, readGuestLine };

type Written = Record<string, (value: unknown) => unknown>;
type Draw = <T>(values: readonly T[]) => T;

interface Part {
  readonly _zod: { readonly def: Readonly<Record<string, unknown>> };
}

/** One of each form that a schema asks for, and what none of them expects. */
const LEAVES: readonly unknown[] = [
  ...[
    'run_0123456789abcdefghij',
    'res_0123456789abcdefghij',
    'senses.group',
    'a'.repeat(64),
    '2026-01-01T00:00:00.000Z',
    '/a/b',
    'host.example:443',
    '*',
  ],
  ...['pack.name', 'key', '', 'x'.repeat(300), '/../a', 'host:0', '__proto__', 'RUN_0123456789abcdefghij\n'],
  ...[0, 1, 2, 10, 600, -1, -0, 0.5, 2 ** 53, Infinity, true, false, null],
];
const ODD: readonly unknown[] = [...LEAVES, [], {}, [null], { kind: 'agent' }, { length: 1 }];
const ROUNDS = 600;
const ODD_KEYS = ['__proto__', 'constructor', 'toString', 'unknown'];

it.each(Object.keys(readers) as (keyof typeof readers)[])(
  '%s is its schema, whatever JSON says',
  async (name) => {
    const { schema } = readers[name];
    const written = (await writeReaders())[name];
    const seen = { accepted: 0, refused: 0 };
    for (let seed = 0; seed < ROUNDS; seed += 1) {
      const value: unknown = JSON.parse(
        JSON.stringify(grow(schema as unknown as Part, drawFrom(seed))) ?? 'null',
      );
      const { success, data } = schema.safeParse(value);
      seen[success ? 'accepted' : 'refused'] += 1;
      expect(written?.(value), `of seed ${seed}`).toStrictEqual(success ? data : null);
    }
    expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(ROUNDS / 100);
  },
);

it('every part of the schemas refuses the same values, and those just past a limit', async () => {
  const parts = [
    ...new Set(Object.values(readers).flatMap(({ schema }) => listParts(schema as unknown as Part))),
  ];
  const written = await writeReaders(
    Object.fromEntries(parts.map((schema, at) => [`part${at}`, { schema }])),
  );
  for (const [at, part] of parts.entries()) {
    for (const value of [...ODD, ...atLimits(part)]) {
      const { success, data } = (part as unknown as z.ZodMiniType).safeParse(value);
      const told = `${JSON.stringify(part._zod.def).slice(0, 200)} of ${JSON.stringify(value).slice(0, 80)}`;
      expect(written[`part${at}`]?.(value), told).toStrictEqual(success ? data : null);
    }
  }
});

it('a schema that no function can be written for fails the build', async () => {
  const write = await loadWriter();
  const short = z.string().check(z.refine((text) => text !== 'x'));
  expect(() => write({ read: { schema: short } })).toThrow('the check custom');
  expect(() => write({ read: { schema: z.date() } })).toThrow('the schema type date');
});

async function loadWriter(): Promise<(from: Record<string, { schema: unknown }>) => string> {
  const file = pathToFileURL(join(ROOT, 'scripts/schema-readers.mjs')).href;
  const { writeReaders: write } = (await import(file)) as { writeReaders: (from: unknown) => string };
  return write;
}

async function writeReaders(from: Record<string, { schema: unknown }> = readers): Promise<Written> {
  const text = (await loadWriter())(from);
  return (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as Written;
}

/** The schema and all in it; a value that may be missing is what it is when it is there. */
function listParts(schema: Part): Part[] {
  const { type, innerType, element, valueType, shape = {}, options = [] } = schema._zod.def;
  const inner = [innerType, element, valueType, ...Object.values(shape as object), ...(options as Part[])];
  const below = inner.filter((part) => part !== undefined).flatMap((part) => listParts(part as Part));
  return type === 'optional' || type === 'default' ? below : [schema, ...below];
}

function atLimits({ _zod: { def } }: Part): unknown[] {
  const [checks, element] = [(def['checks'] ?? []) as Part[], def['element'] as Part | undefined];
  const item =
    element === undefined ? 'x' : [JSON.parse(JSON.stringify(grow(element, drawFrom(1)))) as unknown];
  return checks.flatMap((check): unknown[] => {
    const { value, maximum, minimum } = check._zod.def as Record<string, number | undefined>;
    if (value !== undefined) return [value - 1, value, value + 1];
    const length = maximum ?? minimum;
    if (length === undefined) return [];
    return [length - 1, length, length + 1].map((count) =>
      typeof item === 'string' ? `/${item.repeat(Math.max(0, count - 1))}` : Array(count).fill(item[0]),
    );
  });
}

/** The same draws for the same seed. */
function drawFrom(seed: number): Draw {
  let state = seed;
  return (values) => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return values[((bits ^ (bits >>> 14)) >>> 0) % values.length] as (typeof values)[number];
  };
}

/** A value that mostly fits; now and then a part of it is of another kind, missing, or one too many. */
function grow(schema: Part, draw: Draw): unknown {
  if (isRare(draw)) return draw(ODD);
  const { def } = schema._zod;
  switch (def['type']) {
    case 'optional':
    case 'default':
      return draw([true, false]) ? grow(def['innerType'] as Part, draw) : undefined;
    case 'nullable':
      return draw([true, false]) ? grow(def['innerType'] as Part, draw) : null;
    case 'array':
      return draw([[], [1], [1, 2]]).map(() => grow(def['element'] as Part, draw));
    case 'record':
      return Object.fromEntries(
        draw([[], ['a'], ['a', ...ODD_KEYS]]).map((key) => [key, grow(def['valueType'] as Part, draw)]),
      );
    case 'union':
      return grow(draw(def['options'] as Part[]), draw);
    case 'object':
      return growObject(def['shape'] as Record<string, Part>, draw);
    case 'literal':
      return draw(def['values'] as unknown[]);
    case 'enum':
      return draw(Object.values(def['entries'] as object) as unknown[]);
    default:
      return draw(fittingLeaves(schema));
  }
}

function growObject(shape: Record<string, Part>, draw: Draw): unknown {
  const entries = Object.entries(shape).map(([key, part]): [string, unknown] => [key, grow(part, draw)]);
  const more = isRare(draw) ? ODD_KEYS.map((key): [string, unknown] => [key, draw(ODD)]) : [];
  return Object.fromEntries([...entries, ...more]);
}

const isRare = (draw: Draw): boolean => draw(RARELY);
const RARELY: readonly boolean[] = [true, ...Array<boolean>(199).fill(false)];

const fitting = new Map<Part, readonly unknown[]>();

function fittingLeaves(schema: Part): readonly unknown[] {
  const known = fitting.get(schema);
  if (known !== undefined) return known;
  const { safeParse } = schema as unknown as z.ZodMiniType;
  const found = LEAVES.filter((leaf) => safeParse.call(schema, leaf).success && leaf !== Infinity);
  fitting.set(schema, found);
  return found;
}
