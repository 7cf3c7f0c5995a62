/** What `npm run test:faults` understands. */
import { parseArgs } from 'node:util';
import { KINDS } from './kinds.ts';
import type { Kind } from './contract.ts';

export interface Options {
  readonly kinds: readonly Kind[];
  readonly seed: number;
  /** Cases of every kind; runs, for footprint and soak. */
  readonly count: number;
  /** The one case to repeat, or null. */
  readonly only: number | null;
  readonly jobs: number;
  readonly publishes: boolean;
  /** Where every report is kept as it comes; what is there already is not tried again. Null: nowhere. */
  readonly results: string | null;
}

export const USAGE = `npm run test:faults -- [--kind K[,K…]] [--seed N] [--count N] [--only I] [--jobs N] [--results FILE] [--publish]

  --kind     ${KINDS.map(({ name }) => name).join(', ')}; default: all but flood, footprint and soak
  --seed     decides every case; default: today's date
  --count    cases of every kind, runs for footprint and soak; default 20
  --only     repeats the case with this number
  --jobs     cases at once; default 2
  --results  keeps every report in this file, and goes on where it stopped
  --publish  writes the table to docs/fault-matrix.md
`;

export class OptionsError extends Error {}

export function parseOptions(args: readonly string[]): Options {
  const { values } = parseStrict(args);
  return {
    kinds: findKinds(values.kind),
    seed: readNumber('seed', values.seed ?? today()),
    count: readNumber('count', values.count ?? '20'),
    only: values.only === undefined ? null : readNumber('only', values.only),
    jobs: Math.max(1, readNumber('jobs', values.jobs ?? '2')),
    publishes: values.publish ?? false,
    results: values.results ?? null,
  };
}

function parseStrict(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = {
    kind: text,
    seed: text,
    count: text,
    only: text,
    jobs: text,
    results: text,
    publish: { type: 'boolean' },
  } as const;
  try {
    return parseArgs({ args: [...args], options });
  } catch (error) {
    throw new OptionsError((error as Error).message);
  }
}

function findKinds(given: string | undefined): readonly Kind[] {
  if (given === undefined) return KINDS.filter(({ isUsual }) => isUsual);
  return given.split(',').map((name) => {
    const kind = KINDS.find((each) => each.name === name);
    if (kind === undefined) throw new OptionsError(`there is no kind "${name}"`);
    return kind;
  });
}

function readNumber(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new OptionsError(`--${name} needs a whole number, got "${text}"`);
}

/** A seed that is new every day, and can be read. */
function today(): string {
  return new Date().toISOString().slice(0, 10).replaceAll('-', '');
}
