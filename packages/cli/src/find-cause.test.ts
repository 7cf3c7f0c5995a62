import { expect, test } from 'vitest';
import { findCause } from './find-cause.ts';

test.each([
  [
    'threw: Error: the probe is\nbroken\n    at compute (senses/a.ts:2:4)\n    at run (x.mjs:1:1)',
    'threw: Error: the probe is broken',
  ],
  [
    'file:///p/bad.ts:2\nexport default {\n               ^\n\nSyntaxError: Unexpected end of input\n    at parse (x)',
    'SyntaxError: Unexpected end of input (/p/bad.ts:2)',
  ],
  [
    "invalid: b: Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/p/missing.ts'\n    at x",
    "invalid: b: Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/p/missing.ts'",
  ],
  ['took longer\nthan 30 s', 'took longer than 30 s'],
  ['', ''],
])('the cause in %j is %j', (text, cause) => {
  expect(findCause(text)).toBe(cause);
});
