import { expect, it } from 'vitest';
import { CREDENTIAL_PATHS, namesCredential } from './credential-paths.ts';
import { RUNTIME_DESCRIPTORS } from './runtime-descriptors.ts';

it.each(CREDENTIAL_PATHS)('%s holds a credential, as a path and in code', (path) => {
  expect(namesCredential(`/home/me/${path}`)).toBe(true);
  expect(namesCredential(`read('~/${path}')`)).toBe(true);
});

it('the log-in files of every runtime are in the table', () => {
  const logins = Object.values(RUNTIME_DESCRIPTORS).flatMap(({ loginFiles }) => loginFiles);
  expect(logins.length).toBeGreaterThan(0);
  expect(CREDENTIAL_PATHS).toEqual(expect.arrayContaining(logins));
});

it.each([
  '.ssh/known_hosts',
  '.ssh/config',
  '.ssh/id_ed25519.pub',
  '.aws/config',
  '.aws-sam/build.toml',
  'docs/npmrc.md',
  'src/id_rsa-parser.ts',
])('%s holds none', (path) => {
  expect(namesCredential(path)).toBe(false);
  expect(namesCredential(`read('~/${path}')`)).toBe(false);
});
