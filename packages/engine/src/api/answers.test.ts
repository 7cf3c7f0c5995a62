/** The description of the API follows the code: what is not described does not compile. */
import { expect, test } from 'vitest';
import * as z from 'zod/mini';
import { BranchAnswer, ListedRunAnswer } from './answer-schemas.ts';
import { ANSWERS, type Described, type Returned } from './answers.ts';
import { OPERATIONS } from './operations.ts';

const rowsOf = <S extends z.ZodMiniType>(row: S): Described<z.input<S>[]> => ({
  says: 'Rows.',
  schema: z.array(row),
});

test('the compiler refuses a description that is not of what an operation returns', () => {
  const branches: Described<Returned<'branches'>>[] = [
    rowsOf(BranchAnswer),
    // @ts-expect-error -- a member that is not described
    rowsOf(z.omit(BranchAnswer, { unmade: true })),
    // @ts-expect-error -- a member of another type
    rowsOf(z.extend(BranchAnswer, { unmade: z.optional(z.number()) })),
    // @ts-expect-error -- a member that is not sent
    rowsOf(z.extend(BranchAnswer, { made: z.boolean() })),
  ];
  const runs: Described<Returned<'runs'>>[] = [
    rowsOf(ListedRunAnswer),
    // @ts-expect-error -- one of its words is missing
    rowsOf(z.extend(ListedRunAnswer, { waitingBranch: z.optional(z.enum(['pending', 'failed', 'kept'])) })),
  ];
  expect([branches.length, runs.length]).toEqual([4, 2]);
});

test('every operation is described', () => {
  expect(Object.keys(ANSWERS).toSorted()).toEqual([...Object.keys(OPERATIONS), 'dispatch'].toSorted());
});
