import { expect, test } from 'vitest';
import { cutPage } from './define-operation.ts';
import { InputInvalidError } from './problems.ts';

const nameOf = (name: string): string => name;

test('a list goes on behind a row that has gone in the meantime', () => {
  expect(cutPage(['c', 'a', 'b', 'd'], { limit: 2 }, nameOf)).toEqual(['a', 'b']);
  expect(cutPage(['d', 'c', 'a'], { after: 'b', limit: 2 }, nameOf)).toEqual(['c', 'd']);
  expect(cutPage(['a', 'd', 'c'], { after: 'b' }, nameOf, 'falling')).toEqual(['a']);
  expect(cutPage(['a'], { after: 'b' }, nameOf)).toEqual([]);
});

test('numbers are compared as numbers', () => {
  const seqOf = ({ seq }: { seq: number }): number => seq;
  const rows = [{ seq: 10 }, { seq: 9 }, { seq: 2 }];
  expect(cutPage(rows, { after: '8' }, seqOf)).toEqual([{ seq: 9 }, { seq: 10 }]);
  expect(() => cutPage(rows, { after: 'x' }, seqOf)).toThrow(InputInvalidError);
});
