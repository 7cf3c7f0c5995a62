import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from './redactor.ts';

const VALUE = 'se-Cr3t/k+y"q\\n é😀 7';
const MARK = '[redacted:KEY]';
const redactor = createRedactor([{ name: 'KEY', value: VALUE }]);

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
const everyByte = (text: string, write: (hex: string) => string): string =>
  [...Buffer.from(text)].map((byte) => write(hex(byte, 2))).join('');
const everyUnit = (text: string, write: (hex: string) => string): string =>
  text
    .split('')
    .map((unit) => write(hex(unit.charCodeAt(0), 4)))
    .join('');
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

function inPieces(text: string, size: number): string {
  const stream = redactor.createStream();
  const bytes = Buffer.from(text);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size)
    parts.push(Buffer.from(stream.push(bytes.subarray(at, at + size))));
  return Buffer.concat([...parts, stream.flush()]).toString();
}

const percents = everyByte(VALUE, (digits) => `%${digits}`);
const units = everyUnit(VALUE, (digits) => `\\u${digits}`);

describe('an escaped secret', () => {
  test.each([
    ['every byte after a percent sign', percents],
    ['the same in capitals', percents.toUpperCase()],
    [
      'the same in both cases',
      percents.replaceAll(/%(.)(.)/g, (_, a: string, b: string) => `%${a.toUpperCase()}${b}`),
    ],
    ['escaped twice', everyByte(percents, (digits) => `%${digits}`)],
    ['only its percent signs escaped again', percents.replaceAll('%', '%25')],
    ['every unit as JSON may write it', units],
    ['the same in capitals', units.replaceAll(/[0-9a-f]{4}/g, (digits) => digits.toUpperCase())],
    ['JSON of that JSON', inJson(units)],
    ['JSON of JSON of that JSON', inJson(inJson(units))],
    ['percent signs as JSON', everyUnit(percents, (digits) => `\\u${digits}`)],
    ['bytes as shells and C write them', everyByte(VALUE, (digits) => `\\x${digits}`)],
    [
      'bytes as git writes names',
      [...Buffer.from(VALUE)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join(''),
    ],
    ['the first byte alone', VALUE.replace('s', '%73')],
    ['the last byte alone', VALUE.replace(/7$/, '\\u0037')],
    [
      'every second byte',
      VALUE.replaceAll(/([a-z])([a-z-])/gi, (_, a: string, b: string) => `${a}%${hex(b.charCodeAt(0), 2)}`),
    ],
    ['base64 in an address', encodeURIComponent(Buffer.from(VALUE).toString('base64'))],
  ])('is redacted: %s', (_how, form) => {
    const text = `before ${form} after`;
    const whole = redactor.redact(text);
    expect(whole).toMatch(/^before \[redacted:KEY\].{0,4} after$/);
    for (const size of [1, 2, 3, 7]) expect(inPieces(text, size)).toBe(whole);
  });

  test('leaves what surrounds it as it is', () => {
    const quoted = JSON.stringify({ a: `C:\\dir\\${VALUE}\n`, b: '100%', c: '%7' });
    expect(redactor.redact(quoted)).toBe(String.raw`{"a":"C:\\dir\\${MARK}\n","b":"100%","c":"%7"}`);
    const line = `GET /x?key=${percents}&n=%20 50%`;
    expect(redactor.redact(line)).toBe(`GET /x?key=${MARK}&n=%20 50%`);
  });

  test('of several lines is found in JSON, and one that ends with a backslash too', () => {
    const pem = createRedactor([{ name: 'PEM', value: '-----BEGIN\nabcd\n-----END' }]);
    for (const text of ['-----BEGIN\nabcd\n-----END', '-----BEGIN\r\nabcd\r\n-----END'])
      for (const form of [text, inJson(text), inJson(inJson(text)), encodeURIComponent(text)])
        expect(pem.redact(`x ${form} y`)).toBe('x [redacted:PEM] y');
    const odd = createRedactor([{ name: 'ODD', value: 'abc"def\\' }]);
    expect(odd.redact(JSON.stringify({ k: 'abc"def\\' }))).toMatch(/^\{"k":"\[redacted:ODD\]\\{0,2}"\}$/);
  });

  test('mixed in any way, in any chunking, never gets out', () => {
    const spell = fc.constantFrom<(char: string) => string>(
      (char) => char,
      (char) => everyByte(char, (digits) => `%${digits}`),
      (char) => everyByte(char, (digits) => `%${digits.toUpperCase()}`),
      (char) => everyUnit(char, (digits) => `\\u${digits}`),
      (char) => everyUnit(char, (digits) => `\\\\u${digits}`),
      (char) => everyByte(char, (digits) => `%25${digits}`),
    );
    const char = fc.constantFrom(...'abc7%e', '-', 'é', '😀', '"', ' ');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(char, spell), { minLength: 6, maxLength: 20 }),
        fc.array(fc.nat(200), { maxLength: 20 }),
        (chars, cuts) => {
          const value = chars.map(([plain]) => plain).join('');
          fc.pre(value === value.trim() && !/%[0-9a-f]{2}|%[0-9a-f]?$/i.test(value));
          const of = createRedactor([{ name: 'N', value }]);
          const form = chars.map(([plain, write]) => (plain === '%' ? '%25' : write(plain))).join('');
          const bytes = Buffer.from(`!${form}!`);
          expect(of.redactBytes(bytes).toString()).toBe('![redacted:N]!');
          const stream = of.createStream();
          const parts: Buffer[] = [];
          let from = 0;
          for (const cut of cuts.filter((at) => at <= bytes.length).toSorted((a, b) => a - b)) {
            parts.push(Buffer.from(stream.push(bytes.subarray(from, cut))));
            from = cut;
          }
          parts.push(Buffer.from(stream.push(bytes.subarray(from))), stream.flush());
          expect(Buffer.concat(parts).toString()).toBe('![redacted:N]!');
        },
      ),
      { numRuns: 500 },
    );
  });

  test('is searched for in bounded space, whatever is escaped endlessly', () => {
    for (const noise of ['\\', '%', '%25', '\\u005c', '\\u0']) {
      const stream = redactor.createStream();
      let heldMost = 0;
      let sent = 0;
      let got = 0;
      for (let times = 0; times < 300; times++) {
        const chunk = Buffer.from(noise.repeat(50));
        sent += chunk.length;
        got += stream.push(chunk).length;
        heldMost = Math.max(heldMost, sent - got);
      }
      got += stream.flush().length;
      expect([noise, got === sent, heldMost < 4096]).toEqual([noise, true, true]);
    }
  });

  test('is found in a text that is searched in pieces, also where two of them meet', () => {
    const text = `${'x'.repeat(256 * 1024 - 20)}${percents}${'\\n'.repeat(200_000)}${units}`;
    const redacted = redactor.redact(text);
    expect(redacted.split(MARK).map((part) => part.length)).toEqual([256 * 1024 - 20, 400_000, 0]);
  });
});
