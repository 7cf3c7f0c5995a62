/** An operation of the contract: its route, its input, and what it does with a `Caisson`. */
import type * as z from 'zod/mini';
import type { ApiHost } from './contract.ts';
import { InputInvalidError } from './problems.ts';

type Input<S extends z.ZodMiniType> = z.infer<S>;

export interface Operation<In, Out> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `:name` is the member of that name of the input; the others are in the query, or in the body of a POST. */
  readonly path: string;
  /** Made when the first input comes: a client needs none. */
  input(): z.ZodMiniType<In>;
  readonly answer: 'json' | 'bytes' | 'events' | 'chunks';
  /** Of a list: how much one answer has of it. `run` gets that as `limit`. */
  readonly page?: PageRule | undefined;
  /** Answers only when something has happened, however long that takes. */
  readonly isPatient?: boolean;
  /** Of an answer that rarely changes: it gets an ETag. */
  isTagged?(answer: Awaited<Out>): boolean;
  run(host: ApiHost, input: In, signal: AbortSignal): Out;
}

/** How a list is read in parts (A6). */
export interface PageRule {
  /** Rows of an answer to a request that names no `limit`, and the most that one has. */
  readonly rows: number;
  readonly maxRows: number;
  /** What the request for the next part has as `after`. */
  cursorOf(row: never): string | number;
}

const operation =
  (answer: 'json' | 'bytes' | 'events' | 'chunks') =>
  <S extends z.ZodMiniType, Out>(
    route: `${'GET' | 'POST' | 'DELETE'} /v1/${string}`,
    input: () => S,
    run: (host: ApiHost, input: Input<S>, signal: AbortSignal) => Out,
  ): Operation<Input<S>, Out> => {
    const [method, path] = route.split(' ') as ['GET' | 'POST' | 'DELETE', string];
    return { method, path, input: input as unknown as () => z.ZodMiniType<Input<S>>, answer, run };
  };
export const json = operation('json');
export const tagged = <In, Out>(
  described: Operation<In, Out>,
  isTagged: (answer: Awaited<Out>) => boolean,
): Operation<In, Out> => ({ ...described, isTagged });

/** A list of rows, each about as large as a run. */
export const list =
  (rows = 100, maxRows = 500) =>
  <S extends z.ZodMiniType<Paged>, Row>(
    route: `GET /v1/${string}`,
    input: () => S,
    run: (host: ApiHost, input: Input<S>, signal: AbortSignal) => Promise<readonly Row[]>,
    cursorOf: (row: Row) => string | number,
  ): Operation<Input<S>, Promise<readonly Row[]>> => ({
    ...json(route, input, run),
    page: { rows, maxRows, cursorOf },
  });

interface Paged {
  after?: string | number | undefined;
  limit?: number | undefined;
}

/**
 * For a list that is read whole, and is never long: the part of it behind a row. It has the order of its cursors, so that
 * a row which is gone in the meantime still has a place.
 */
export function cutPage<Row, Key extends string | number>(
  rows: readonly Row[],
  { after, limit }: Paged,
  keyOf: (row: Row) => Key,
  order: 'rising' | 'falling' = 'rising',
): readonly Row[] {
  const sign = order === 'rising' ? 1 : -1;
  const compare = (one: Key, other: Key): number => (one === other ? 0 : one > other ? sign : -sign);
  const sorted = rows.toSorted((one, other) => compare(keyOf(one), keyOf(other)));
  const [first] = sorted;
  if (after === undefined || first === undefined) return sorted.slice(0, limit);
  const cursor = (typeof keyOf(first) === 'number' ? Number(after) : after) as Key;
  if (Number.isNaN(cursor)) throw new InputInvalidError(`after: ${after} is no number`);
  return sorted.filter((row) => compare(keyOf(row), cursor) > 0).slice(0, limit);
}

export const bytes = operation('bytes');
export const events = operation('events');
export const chunks = operation('chunks');
