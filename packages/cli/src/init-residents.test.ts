import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RESIDENT_FILES, RESIDENT_KEYS } from './init-residents.ts';

const EXAMPLE = join(import.meta.dirname, '../../../examples/residents');

test('the example and what init writes are the same', () => {
  expect(RESIDENT_KEYS).toBe(readFileSync(join(EXAMPLE, 'caisson.yaml'), 'utf8'));
  expect(Object.keys(RESIDENT_FILES)).toEqual(['senses/tests.mts', 'workflows/fix-build.mts']);
  for (const [path, code] of Object.entries(RESIDENT_FILES))
    expect(code).toBe(readFileSync(join(EXAMPLE, path), 'utf8'));
});
