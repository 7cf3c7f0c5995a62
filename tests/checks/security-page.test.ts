import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../e2e/project.ts';

it('every test that SECURITY.md names is there', () => {
  const page = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8');
  const named = [...page.matchAll(/`((?:tests|packages)\/[^`]+)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
