import { expect, test } from 'vitest';
import { findInsidePrograms } from './inside-programs.ts';

test('what runs inside is Perl where there is one', () => {
  const { relay, toolShim } = findInsidePrograms('/opt/node', process.execPath); // any program will do for the test
  expect(relay).toEqual([process.execPath, expect.stringMatching(/inside\.pl$/), 'relay']);
  expect(toolShim).toEqual([process.execPath, expect.stringMatching(/inside\.pl$/)]);
});

test.each(['/no/such/perl', '/etc/passwd'])('it is Node where %s cannot be run', (perl) => {
  const { relay, toolShim } = findInsidePrograms('/opt/node', perl);
  expect([relay[0], relay.at(-1)]).toEqual(['/opt/node', expect.stringMatching(/relay\.mjs$/)]);
  expect([toolShim[0], toolShim.at(-1)]).toEqual(['/opt/node', expect.stringMatching(/tool-shim\.mjs$/)]);
});
