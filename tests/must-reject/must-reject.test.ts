import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { readCases, runCase } from './run-case.ts';

const CASES = readCases(fileURLToPath(new URL('cases', import.meta.url)));

it.each(CASES)('$name: $given.title', { timeout: 60_000 }, ({ given }) => runCase(given));

it('the corpus is there', () => {
  expect(CASES.length).toBeGreaterThan(20);
});
