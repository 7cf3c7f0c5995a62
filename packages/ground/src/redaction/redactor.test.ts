import { execFileSync } from 'node:child_process';

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { createRedactor, SecretTooShortError } from './redactor.ts';

const VALUE = 'sk-Ab9/x+"q\\é~z 7';
const redactor = createRedactor([{ name: 'KEY', value: VALUE }]);

function redactInChunks(
  of: ReturnType<typeof createRedactor>,
  bytes: Buffer,
  cuts: readonly number[],
): Buffer {
  const stream = of.createStream();
  const parts: Buffer[] = [];
  let from = 0;
  for (const cut of [...new Set(cuts)].sort((a, b) => a - b)) {
    parts.push(Buffer.from(stream.push(bytes.subarray(from, cut))));
    from = cut;
  }
  parts.push(Buffer.from(stream.push(bytes.subarray(from))), stream.flush());
  return Buffer.concat(parts);
}

function everyByte(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length }, (_, i) => i);
}

const utf8 = Buffer.from(VALUE);
const forms: [string, string][] = [
  ['the value itself', VALUE],
  ['JSON', JSON.stringify(VALUE).slice(1, -1)],
  ['JSON inside JSON', JSON.stringify(JSON.stringify(VALUE)).slice(3, -3)],
  ['ASCII-only JSON', JSON.stringify(VALUE).slice(1, -1).replace('é', '\\u00e9')],
  ['JSON with escaped slashes', JSON.stringify(VALUE).slice(1, -1).replace('/', '\\/')],
  ['a URL component', encodeURIComponent(VALUE)],
  ['a URL component in lower case', encodeURIComponent(VALUE).replace(/%../g, (x) => x.toLowerCase())],
  ['a form field', new URLSearchParams({ v: VALUE }).toString().slice(2)],
  ['hex', utf8.toString('hex')],
  ['upper-case hex', utf8.toString('hex').toUpperCase()],
];

test.each(forms)('%s is redacted, whole and one byte at a time', (_name, form) => {
  const text = `before ${form} after`;
  expect(redactor.redact(text)).toBe('before [redacted:KEY] after');
  const bytes = Buffer.from(text);
  expect(redactInChunks(redactor, bytes, everyByte(bytes)).toString()).toBe('before [redacted:KEY] after');
});

const ODD_VALUE = "S3cr/t+Va=l&ue<7>pä~ 'x";
const writers: [string, string][] = [
  ["Python's quote", 'S3cr/t%2BVa%3Dl%26ue%3C7%3Ep%C3%A4~%20%27x'],
  ["Python's quote_plus, Go's QueryEscape", 'S3cr%2Ft%2BVa%3Dl%26ue%3C7%3Ep%C3%A4~+%27x'],
  ["Go's PathEscape", 'S3cr%2Ft+Va=l&ue%3C7%3Ep%C3%A4~%20%27x'],
  ["PHP's urlencode", 'S3cr%2Ft%2BVa%3Dl%26ue%3C7%3Ep%C3%A4%7E+%27x'],
  ["Go's JSON", "S3cr/t+Va=l\\u0026ue\\u003c7\\u003epä~ 'x"],
  ["Go's JSON inside JSON", "S3cr/t+Va=l\\\\u0026ue\\\\u003c7\\\\u003epä~ 'x"],
  ["PHP's JSON", "S3cr\\/t+Va=l&ue<7>p\\u00e4~ 'x"],
  ["Gson's JSON", 'S3cr/t+Va\\u003dl\\u0026ue\\u003c7\\u003epä~ \\u0027x'],
  [".NET's JSON", 'S3cr/t\\u002BVa=l\\u0026ue\\u003C7\\u003Ep\\u00E4~ \\u0027x'],
];

test.each(writers)('what %s makes of it is redacted', (_name, form) => {
  const { redact } = createRedactor([{ name: 'KEY', value: ODD_VALUE }]);
  expect(redact(`before ${form} after`)).toBe('before [redacted:KEY] after');
});

describe.each([0, 1, 2, 3, 4, 5])('base64 with %i bytes in front', (lead) => {
  test.each(['base64', 'base64url'] as const)('%s is redacted whatever follows', (encoding) => {
    for (const trail of ['', '\n', 'ab', 'abc']) {
      const text = Buffer.from('.'.repeat(lead) + VALUE + trail).toString(encoding);
      const redacted = redactor.redact(text);
      expect(redacted).toContain('[redacted:KEY]');
      // At most one character on each side carries bits of the value beside those of a neighbour.
      expect(redacted.length - '[redacted:KEY]'.length).toBeLessThanOrEqual(
        Math.ceil(((lead + trail.length) * 8) / 6) + 4,
      );
    }
  });
});

test('basic auth headers are redacted', () => {
  const header = `Authorization: Basic ${Buffer.from(`user:${VALUE}`).toString('base64')}`;
  expect(redactor.redact(header)).toMatch(/^Authorization: Basic .{6,8}\[redacted:KEY\].{0,3}$/);
});

test('git hashes, hex dumps and ordinary text stay as they are', () => {
  const text = `commit 3f1c0e5b9d2a7468f0e1d2c3b4a5968778695a4b\n00000000: 7f45 4c46 0201 sk-Ab9 c2stQWI5 ünïcödé \u2028`;
  expect(redactor.redact(text)).toBe(text);
  const bytes = Buffer.from(text);
  expect(redactInChunks(redactor, bytes, everyByte(bytes))).toEqual(bytes);
});

test('bytes that are not UTF-8 pass unchanged', () => {
  const bytes = Buffer.from([0, 255, 254, 195, 40, 10, 0]);
  expect(redactor.redactBytes(bytes)).toEqual(bytes);
});

test('overlapping secrets leave nothing of either behind', () => {
  const two = createRedactor([
    { name: 'A', value: 'abcdef' },
    { name: 'B', value: 'defghi' },
  ]);
  expect(two.redact('xabcdefghix')).toBe('x[redacted:A]x');
  const bytes = Buffer.from('xabcdefghix');
  expect(redactInChunks(two, bytes, everyByte(bytes)).toString()).toBe('x[redacted:A]x');
});

test('a secret that is the beginning of another does not expose the rest of the longer one', () => {
  const two = createRedactor([
    { name: 'SHORT', value: 'token-1' },
    { name: 'LONG', value: 'token-123456' },
  ]);
  expect(two.redact('<token-123456>')).not.toContain('23456');
  const bytes = Buffer.from('<token-123456> <token-1>');
  const streamed = redactInChunks(two, bytes, everyByte(bytes)).toString();
  expect(streamed).toBe(two.redact('<token-123456> <token-1>'));
});

test('an endless repetition of a self-overlapping secret is held in bounded memory', () => {
  const of = createRedactor([{ name: 'A', value: 'aaaaaaaa' }]);
  const stream = of.createStream();
  let out = '';
  for (let i = 0; i < 1000; i++) out += stream.push(Buffer.alloc(100, 'a')).toString();
  out += stream.flush().toString();
  expect(out).toBe('[redacted:A]');
});

test('a stream lets go at once of what cannot become a secret', () => {
  const stream = redactor.createStream();
  expect(stream.push(Buffer.from('ready\n')).toString()).toBe('ready\n');
  expect(stream.push(Buffer.from('sk-Ab')).toString()).toBe('');
  expect(stream.push(Buffer.from('!\n')).toString()).toBe('sk-Ab!\n');
});

test('a stream does not depend on a chunk that its caller reuses', () => {
  const stream = redactor.createStream();
  const chunk = Buffer.from(VALUE.slice(0, 5));
  stream.push(chunk);
  chunk.fill(0);
  expect(stream.push(Buffer.from(VALUE.slice(5))).toString()).toBe('[redacted:KEY]');
});

test('values of fewer than six characters are returned as errors and not looked for', () => {
  const of = createRedactor([
    { name: 'PIN', value: '12345' },
    { name: 'EMPTY', value: '' },
    { name: 'OK', value: '123456' },
  ]);
  expect(of.tooShort.map((error) => [error instanceof SecretTooShortError, error.secretName])).toEqual([
    [true, 'PIN'],
    [true, 'EMPTY'],
  ]);
  expect(of.redact('12345 123456')).toBe('12345 [redacted:OK]');
  expect(of.tooShort[0]?.message).not.toContain('12345');
});

const LONG = 'sk-ant-api03-' + 'Zq7_x-W'.repeat(14);

describe.each(['\n', '\r\n', '\\n', '\\r\\n'])('an encoding broken into lines by %j', (lineBreak) => {
  const of = createRedactor([{ name: 'LONG', value: LONG }]);
  const wrap = (text: string, columns: number): string =>
    (text.match(new RegExp(`.{1,${columns}}`, 'g')) ?? []).join(lineBreak);

  test.each([76, 64, 60, 13, 6])(
    'at %i columns is redacted at every offset and in every chunking',
    (columns) => {
      for (let lead = 0; lead < 78; lead += columns < 60 ? 11 : 1) {
        for (const encoding of ['base64', 'hex'] as const) {
          const plain = Buffer.from('='.repeat(lead) + LONG).toString(encoding);
          const before = Buffer.from('='.repeat(lead)).toString(encoding);
          const bytes = Buffer.from(wrap(plain, columns));
          const redacted = of.redactBytes(bytes).toString();
          expect(redacted).toContain('[redacted:LONG]');
          expect(redacted.replaceAll(lineBreak, '').length).toBeLessThanOrEqual(
            before.length + '[redacted:LONG]'.length + 4,
          );
          if (lead % 7 === 0) expect(redactInChunks(of, bytes, everyByte(bytes)).toString()).toBe(redacted);
        }
      }
    },
  );
});

test('what the base64 program really prints is redacted', () => {
  const of = createRedactor([{ name: 'LONG', value: LONG }]);
  const printed = execFileSync('base64', { input: `token=${LONG}\n` }).toString();
  expect(printed.trim().split('\n').length).toBe(3);
  expect(of.redact(printed)).toMatch(/^.{8}\[redacted:LONG\].{0,4}\n$/);
});

test('a break where none belongs is not skipped in the plain value', () => {
  expect(createRedactor([{ name: 'N', value: 'abcdefgh' }]).redact('abcd\nefgh')).toBe('abcd\nefgh');
});

test('a value is found without the white space that surrounded it', () => {
  const of = createRedactor([{ name: 'FILE', value: '  from-file-42\n' }]);
  expect(of.redact('<from-file-42>')).toBe('<[redacted:FILE]>');
  expect(createRedactor([{ name: 'BLANK', value: 'ab        \n' }]).tooShort.length).toBe(1);
});

test('a value of several lines is found as a terminal prints it', () => {
  const of = createRedactor([{ name: 'PEM', value: '-----BEGIN\nabcd\n-----END' }]);
  expect(of.redact('x -----BEGIN\r\nabcd\r\n-----END')).toBe('x [redacted:PEM]');
});

test('a value with a lone surrogate does not break the redactor', () => {
  expect(createRedactor([{ name: 'ODD', value: 'abc\ud800def' }]).redact('abc')).toBe('abc');
});

test('any secret in any text, in any chunking, never gets out and leaves the rest intact', () => {
  const secret = fc
    .string({ unit: 'grapheme', minLength: 6, maxLength: 40 })
    .filter((s) => [...s.trim()].length >= 6 && s === s.trim());
  // Neighbours from another alphabet than the label, so that a leak cannot be mistaken for it.
  const text = fc.string({ unit: fc.constantFrom('α', '\n', '!', '0', '\u2028'), maxLength: 30 });
  const encode = fc.constantFrom<(value: string) => string>(
    (value) => value,
    (value) => encodeURIComponent(value),
    (value) => JSON.stringify(value).slice(1, -1),
    (value) => Buffer.from(value).toString('hex'),
  );
  fc.assert(
    fc.property(
      secret,
      text,
      text,
      encode,
      fc.array(fc.nat(400), { maxLength: 40 }),
      (value, a, b, form, cuts) => {
        fc.pre(!'[redacted:N]'.includes(value));
        const of = createRedactor([{ name: 'N', value }]);
        const bytes = Buffer.from(a + form(value) + b);
        const inRange = cuts.filter((cut) => cut <= bytes.length);
        const whole = of.redactBytes(bytes);
        expect(redactInChunks(of, bytes, inRange)).toEqual(whole);
        expect(redactInChunks(of, bytes, everyByte(bytes))).toEqual(whole);
        expect(whole.includes(Buffer.from(form(value)))).toBe(false);
        expect(whole.includes('[redacted:N]')).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
});

test('several secrets over a tiny alphabet, where everything overlaps, never get out of any chunking', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 6, maxLength: 12 });
  const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 120 });
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 4 }),
      text,
      fc.array(fc.nat(120)),
      (values, body, cuts) => {
        const of = createRedactor(values.map((value, i) => ({ name: `${i}`, value })));
        const bytes = Buffer.from(body);
        const streamed = redactInChunks(
          of,
          bytes,
          cuts.filter((cut) => cut <= bytes.length),
        ).toString();
        expect(streamed).toBe(of.redact(body));
        expect(streamed.replaceAll(/\[redacted:\d\]/g, '|')).toBe(unionRemoved(body, values));
      },
    ),
    { numRuns: 1000 },
  );
});

/** The definition, by brute force: mark every covered character, one bar where an uninterrupted cover begins. */
function unionRemoved(body: string, values: readonly string[]): string {
  let out = '';
  let end = 0;
  for (let i = 0; i < body.length; i++) {
    const longest = Math.max(
      0,
      ...values.filter((value) => body.startsWith(value, i)).map((value) => value.length),
    );
    if (longest > 0) {
      if (i >= end) out += '|';
      end = Math.max(end, i + longest);
    }
    if (i >= end) out += body[i];
  }
  return out;
}
