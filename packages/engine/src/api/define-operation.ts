/** An operation of the contract: its route, its input, and what it does with a `Caisson`. */
import type * as z from 'zod/mini';
import type { ApiHost } from './contract.ts';

type Input<S extends z.ZodMiniType> = z.infer<S>;

export interface Operation<In, Out> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `:name` is the member of that name of the input; the others are in the query, or in the body of a POST. */
  readonly path: string;
  /** Made when the first input comes: a client needs none. */
  input(): z.ZodMiniType<In>;
  readonly answer: 'json' | 'bytes' | 'events' | 'chunks';
  run(host: ApiHost, input: In, signal: AbortSignal): Out;
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
export const bytes = operation('bytes');
export const events = operation('events');
export const chunks = operation('chunks');
