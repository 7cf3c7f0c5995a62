import type { ConfigFile } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { mergeFiles } from './merge-files.ts';

const merge = (user: unknown, project: unknown): unknown =>
  mergeFiles(user as ConfigFile, project as ConfigFile);

test("maps are merged, lists are joined without doubles, and the project's single values count", () => {
  expect(
    merge(
      { mode: 'suggest', limits: { retries: 1, depth: 1 }, network: { hosts: ['a.example:443'] } },
      { mode: 'auto', limits: { retries: 0 }, network: { hosts: ['a.example:443', 'b.example:443'] } },
    ),
  ).toEqual({
    mode: 'auto',
    limits: { retries: 0, depth: 1 },
    network: { hosts: ['a.example:443', 'b.example:443'] },
  });
});

test('an address is never mixed with the key of another entry of the same name', () => {
  const own = { endpoint: 'https://own.example', apiKey: 'env:OWN' };
  const other = { endpoint: 'https://other.example' };
  expect(merge({ network: { services: { api: own } } }, { network: { services: { api: other } } })).toEqual({
    network: { services: { api: other } },
  });
  expect(
    merge({ envs: { 'a.b': { secrets: { X: 'env:X' } } } }, { envs: { 'a.b': { values: {} } } }),
  ).toEqual({
    envs: { 'a.b': { values: {} } },
  });
  expect(
    merge({ store: { s3: { bucket: 'own', region: 'x' } } }, { store: { s3: { bucket: 'b' } } }),
  ).toEqual({
    store: { s3: { bucket: 'b' } },
  });
});
