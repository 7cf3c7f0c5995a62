import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';

import { createNdjsonDecoder, encodeNdjson, type Decoded, type NdjsonDecoderOptions } from './ndjson.ts';

function decodeInChunks(
  bytes: Uint8Array,
  cuts: readonly number[],
  options?: NdjsonDecoderOptions,
): Decoded[] {
  const decoder = createNdjsonDecoder(options);
  const out: Decoded[] = [];
  let from = 0;
  for (const cut of [...new Set(cuts)].filter((c) => c <= bytes.length).sort((a, b) => a - b)) {
    const chunk = bytes.slice(from, cut);
    out.push(...decoder.push(chunk));
    chunk.fill(120); // the caller may reuse its chunk
    from = cut;
  }
  out.push(...decoder.push(bytes.subarray(from)), ...decoder.end());
  return out;
}

function everyByte(bytes: Uint8Array): number[] {
  return Array.from({ length: bytes.length }, (_, i) => i);
}

/** Decodes whole and byte by byte and expects the same. */
function decode(input: string | Uint8Array, options?: NdjsonDecoderOptions): Decoded[] {
  const bytes = typeof input === 'string' ? new TextEncoder().encode(input) : input;
  const whole = decodeInChunks(bytes, [], options);
  expect(decodeInChunks(bytes, everyByte(bytes), options)).toEqual(whole);
  return whole;
}

const value = (of: unknown): Decoded => ({ kind: 'value', value: of });

describe('lines', () => {
  test('each line is one value, split UTF-8 and all', () => {
    expect(decode('{"a":"ü€😀"}\n[1]\nnull\n"x"\n')).toEqual([
      value({ a: 'ü€😀' }),
      value([1]),
      value(null),
      value('x'),
    ]);
  });

  test('CRLF and blank lines are whitespace', () => {
    expect(decode('{"a":1}\r\n\r\n\n  \t\n2\r\n')).toEqual([value({ a: 1 }), value(2)]);
  });

  test('U+2028, U+2029, U+0085, VT and FF never end a line', () => {
    expect(decode('"a\u2028b\u2029c\u0085d"\n')).toEqual([value('a\u2028b\u2029c\u0085d')]);
    expect(decode('{}\v{}\n{}\f{}\n')).toMatchObject([{ reason: 'not-json' }, { reason: 'not-json' }]);
  });

  test('a genuine replacement character is data', () => {
    expect(decode('"\uFFFD"\n{"b":1}\n')).toEqual([value('\uFFFD'), value({ b: 1 })]);
  });

  test('a key named __proto__ stays a plain key', () => {
    const [first] = decode('{"__proto__":{"x":1}}\n');
    expect(first?.kind === 'value' && Object.keys(first.value as object)).toEqual(['__proto__']);
  });
});

describe('bad lines', () => {
  test('text that is not JSON is one record, and the next line is read', () => {
    expect(decode('oops\n{"a":1}\n')).toEqual([
      { kind: 'malformed', reason: 'not-json', bytes: 4, head: 'oops' },
      value({ a: 1 }),
    ]);
  });

  test('a NUL is named', () => {
    expect(decode('{"a":"\0"}\n1\n')).toEqual([
      { kind: 'malformed', reason: 'nul', bytes: 9, head: '{"a":"\0"}' },
      value(1),
    ]);
  });

  test('bytes that are not UTF-8 are named and spoil no neighbour', () => {
    const bytes = Buffer.concat([
      Buffer.from('1\n"'),
      Buffer.from([0xc3, 0x28, 0xff]),
      Buffer.from('"\n"\uFFFD"\n'),
    ]);
    expect(decode(bytes)).toEqual([
      value(1),
      { kind: 'malformed', reason: 'invalid-utf8', bytes: 5, head: '"\uFFFD(\uFFFD"' },
      value('\uFFFD'),
    ]);
  });

  test('a byte order mark is not JSON', () => {
    expect(decode('\uFEFF{}\n')).toMatchObject([{ reason: 'not-json', bytes: 5 }]);
  });

  test('a line left open at the end is unterminated, also when it looks whole', () => {
    expect(decode('1\n{"a":1}')).toEqual([
      value(1),
      { kind: 'malformed', reason: 'unterminated', bytes: 7, head: '{"a":1}' },
    ]);
    expect(decode('{"a":')).toMatchObject([{ reason: 'unterminated', bytes: 5 }]);
    expect(decode('\r')).toEqual([]);
  });

  test('a whole last object without LF is taken when allowed, a number or half an object is not', () => {
    expect(decode('{"a":1}', { allowUnterminated: true })).toEqual([value({ a: 1 })]);
    expect(decode('12', { allowUnterminated: true })).toMatchObject([{ reason: 'unterminated' }]);
    expect(decode('{"a"', { allowUnterminated: true })).toMatchObject([{ reason: 'unterminated' }]);
  });
});

describe('long lines', () => {
  test('a line of exactly the cap is read, one byte more is one record', () => {
    expect(decode('"12345678"\n"123456789"\n1\n', { maxLineBytes: 10 })).toEqual([
      value('12345678'),
      { kind: 'malformed', reason: 'too-long', bytes: 11, head: '"123456789"' },
      value(1),
    ]);
  });

  test('the cap counts bytes, not characters', () => {
    expect(decode('"€€€"\n', { maxLineBytes: 11 })).toEqual([value('€€€')]);
    expect(decode('"€€€"\n', { maxLineBytes: 10 })).toMatchObject([{ reason: 'too-long', bytes: 11 }]);
  });

  test('a line that never ends costs bounded memory and is one record', () => {
    const decoder = createNdjsonDecoder();
    const chunk = new Uint8Array(1 << 20).fill(97);
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 256; i++) expect(decoder.push(chunk)).toEqual([]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 << 20);
    expect(decoder.end()).toEqual([
      { kind: 'malformed', reason: 'too-long', bytes: 256 << 20, head: 'a'.repeat(200) },
    ]);
  });

  test('after a line that was too long the stream goes on', () => {
    const long = 'x'.repeat(5000);
    expect(decode(`1\n${long}\n2\n${long}`, { maxLineBytes: 300 })).toEqual([
      value(1),
      { kind: 'malformed', reason: 'too-long', bytes: 5000, head: 'x'.repeat(200) },
      value(2),
      { kind: 'malformed', reason: 'too-long', bytes: 5000, head: 'x'.repeat(200) },
    ]);
  });

  test('a 1 MiB line in single bytes is read in linear time', () => {
    const decoder = createNdjsonDecoder();
    const bytes = Buffer.from(JSON.stringify('y'.repeat((1 << 20) - 2)));
    for (let i = 0; i < bytes.length; i++) decoder.push(bytes.subarray(i, i + 1));
    expect(decoder.push(Buffer.from('\n'))).toEqual([value('y'.repeat((1 << 20) - 2))]);
  });
});

describe('any input', () => {
  const cuts = fc.array(fc.nat(2000), { maxLength: 50 });

  test('what was encoded is decoded, whatever the chunking', () => {
    fc.assert(
      fc.property(fc.array(fc.json()), cuts, (documents, at) => {
        const values = documents.map((json) => JSON.parse(json) as unknown);
        const bytes = new TextEncoder().encode(values.map(encodeNdjson).join(''));
        expect(decodeInChunks(bytes, at)).toEqual(values.map(value));
      }),
    );
  });

  test('any bytes give the same records for every chunking', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      fc
        .constantFrom('\n', '\r\n', '\0', '"\uFFFD"', '"€"', '{"a":1}', '\u2028')
        .map((s) => new TextEncoder().encode(s)),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 60 }),
        cuts,
        fc.integer({ min: 1, max: 40 }),
        (pieces, at, cap) => {
          const bytes = new Uint8Array(Buffer.concat(pieces));
          const options = { maxLineBytes: cap };
          const whole = decodeInChunks(bytes, [], options);
          expect(decodeInChunks(bytes, at, options)).toEqual(whole);
          expect(decodeInChunks(bytes, everyByte(bytes), options)).toEqual(whole);
          expect(whole.length).toBeLessThanOrEqual(bytes.filter((byte) => byte === 10).length + 1);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('encoding', () => {
  test('a value is one line that even a reader splitting at U+2028 cannot split', () => {
    expect(encodeNdjson({ a: 'x\n\r\u2028\u2029' })).toBe('{"a":"x\\n\\r\\u2028\\u2029"}\n');
  });

  test('what JSON cannot say is an error instead of the text undefined', () => {
    expect(() => encodeNdjson(undefined)).toThrow(TypeError);
    expect(() => encodeNdjson(() => 1)).toThrow('no JSON form');
  });
});

test('without Buffer, as in a browser, the records are the same', async () => {
  const input = new TextEncoder().encode('\uFEFF1\n"€\uFFFD"\n{"a":"\0"}\n[1,2]\n{"open"');
  const bytes = new Uint8Array([...input.subarray(0, 20), 0xff, ...input.subarray(20)]);
  vi.resetModules();
  vi.stubGlobal('Buffer', undefined);
  const browser = await import('./ndjson.ts').finally(() => vi.unstubAllGlobals());
  const decoder = browser.createNdjsonDecoder();
  const records = [
    ...everyByte(bytes).flatMap((i) => decoder.push(bytes.subarray(i, i + 1))),
    ...decoder.end(),
  ];
  expect(records).toEqual(decode(bytes));
});
