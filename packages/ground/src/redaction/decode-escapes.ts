/**
 * Text with its escapes undone: `%73`, `\u0073`, `\x73`, `\163`, `\"`, a plus for a space, in any mixture and at any
 * nesting. It is only for searching: nothing is written in this form, and every byte of it knows its bytes in the text.
 * Escapes with two meanings have one here: other backslashes are left out, and a line end reads as the `n` of `
 * `.
 *
 * An escape is undone as soon as its last byte is there, and the result may complete another one: `%2573` is `%73` is
 * `s`. So the result does not depend on what follows, except if the text ends inside an escape.
 */

export interface DecodedText {
  readonly bytes: Buffer;
  /** Where in the text each byte begins and ends. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** From here on the bytes may be the beginning of an escape that the text does not finish. */
  readonly pendingFrom: number;
}

/** One byte is never spelled longer than this, so that a stream holds back a limited amount. */
const MAX_SPELLING = 64;
const PERCENT = 0x25;
const BACKSLASH = 0x5c;
const PLUS = 0x2b;
const LOWER_U = 0x75;
const LOWER_X = 0x78;
const HALF = 0xed;
/** No escape is longer, once its inner escapes are undone. */
const LONGEST = 6;

/** How many nested escapes may be open when the text ends inside them. */
const MAX_NESTING = 4;
/** An escape without its end, or the first half of a character: its bytes one by one, as if they were characters. */
const OPEN =
  /(?:%[0-9a-f]?|\\(?:u[0-9a-f]{0,3}|x[0-9a-f]?|[0-3][0-7]?)?|\u00ed(?:[\u00a0-\u00af][\u0080-\u00bf]?|[\u00b0-\u00bf])?)$/i;

/** The letters after a backslash for bytes that cannot be written there. */
const SHORT: ReadonlySet<number> = new Set(Buffer.from(`"'/bfnrt`));
/** What begins a longer escape there. */
const LONG: ReadonlySet<number> = new Set(Buffer.from('ux0123'));
/**
 * These bytes read as the letters of their escapes: in `\
 * ` a line end and two bytes look the same.
 */
const LETTER = Uint8Array.from({ length: 256 }, (_, byte) => byte);
for (const [control, letter] of ['\bb', '\ff', '\nn', '\rr', '\tt', '+ '].map((pair) => Buffer.from(pair)))
  LETTER[control as number] = letter as number;
/** The first byte of an escape, or of half a character. */
const BEGINS_ESCAPE = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === PERCENT || byte === BACKSLASH || byte === HALF ? 1 : 0,
);
const HEX = new Int8Array(256).fill(-1);
for (let digit = 0; digit < 16; digit++)
  for (const char of [digit.toString(16), digit.toString(16).toUpperCase()]) HEX[char.charCodeAt(0)] = digit;

/** Null if nothing is escaped: the text is already decoded. */
export function decodeEscapes(text: Buffer): DecodedText | null {
  if (!text.includes(PERCENT) && !text.includes(BACKSLASH) && !text.includes(PLUS)) return null;
  return decode(text);
}

/** A form as it appears in decoded text. */
export function decodeForm(form: Buffer): Buffer {
  return decode(form).bytes;
}

function decode(text: Buffer): DecodedText {
  const decoder = new Decoder(text.length);
  for (let at = 0; at < text.length;) at = decoder.pushPlain(text, at);
  return decoder.result();
}

class Decoder {
  private readonly bytes: Buffer;
  private readonly starts: Int32Array;
  private readonly ends: Int32Array;
  private length = 0;
  /** Where the latest byte is that may begin an escape. */
  private mark = -LONGEST - 1;

  constructor(capacity: number) {
    this.bytes = Buffer.allocUnsafe(capacity);
    this.starts = new Int32Array(capacity);
    this.ends = new Int32Array(capacity);
  }

  /**
   * Reads all bytes from `at` to the next one that may be a part of an escape, and that one. Returns where to continue.
   */
  pushPlain(text: Buffer, at: number): number {
    const { bytes, starts, ends } = this;
    let length = this.length;
    let next = at;
    for (; next < text.length && length - this.mark >= LONGEST; next++, length++) {
      const byte = text[next] as number;
      if (BEGINS_ESCAPE[byte] === 1) break;
      bytes[length] = LETTER[byte] as number;
      starts[length] = next;
      ends[length] = next + 1;
    }
    this.length = length;
    if (next < text.length) this.push(text[next] as number, next);
    return next + 1;
  }

  private push(byte: number, at: number): void {
    this.put(byte, at, at + 1);
    let reduced = this.reduce();
    while (reduced) reduced = this.reduce();
  }

  result(): DecodedText {
    const { bytes, starts, ends, length } = this;
    return {
      bytes: bytes.subarray(0, length),
      starts: starts.subarray(0, length),
      ends: ends.subarray(0, length),
      pendingFrom: this.findPending(),
    };
  }

  private put(byte: number, start: number, end: number): void {
    this.bytes[this.length] = LETTER[byte] as number;
    this.starts[this.length] = start;
    this.ends[this.length] = end;
    if (BEGINS_ESCAPE[byte] === 1) this.mark = this.length;
    this.length += 1;
  }

  /** Undoes the escape that ends with the last byte, if there is one. */
  private reduce(): boolean {
    const { bytes, length } = this;
    const last = bytes[length - 1] as number;
    const before = length < 2 ? -1 : (bytes[length - 2] as number);
    if (before === BACKSLASH && !LONG.has(last)) return this.dropBackslash(last);
    if ((HEX[last] as number) < 0) return this.joinSurrogates();
    return (
      (this.isAt(3, PERCENT) && this.replaceHex(3, 2)) ||
      (this.isAt(4, BACKSLASH) && this.isAt(3, LOWER_X) && this.replaceHex(4, 2)) ||
      (this.isAt(6, BACKSLASH) && this.isAt(5, LOWER_U) && this.replaceHex(6, 4)) ||
      (this.isAt(4, BACKSLASH) && this.replaceOctal())
    );
  }

  /**
   * A backslash before something that needs none is a byte of the text; it is left out, and does not belong to what
   * follows.
   */
  private dropBackslash(last: number): boolean {
    if (last === BACKSLASH || SHORT.has(last)) return this.replace(2, [last]);
    const at = this.length - 1;
    const [start, end] = [this.starts[at] as number, this.ends[at] as number];
    this.length -= 2;
    this.put(last, start, end);
    if (this.mark > at - 1) this.findMark();
    return true;
  }

  private isAt(back: number, byte: number): boolean {
    return this.length >= back && this.bytes[this.length - back] === byte;
  }

  private replaceHex(taken: number, digits: number): boolean {
    let value = 0;
    for (let back = digits; back > 0; back--) {
      const digit = HEX[this.bytes[this.length - back] as number] as number;
      if (digit < 0) return false;
      value = value * 16 + digit;
    }
    return this.replace(taken, digits === 2 ? [value] : utf8Of(value));
  }

  private replaceOctal(): boolean {
    const digits = this.bytes.toString('latin1', this.length - 3, this.length);
    return /^[0-3][0-7]{2}$/.test(digits) && this.replace(4, [Number.parseInt(digits, 8)]);
  }

  /** Two halves of a character, each of them escaped alone. */
  private joinSurrogates(): boolean {
    const { bytes, length } = this;
    if (!this.isAt(6, HALF) || !this.isAt(3, HALF)) return false;
    const [high, low] = [unitAt(bytes, length - 6), unitAt(bytes, length - 3)];
    if (high < 0xd800 || high > 0xdbff || low < 0xdc00 || low > 0xdfff) return false;
    const point = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    return this.replace(6, [...Buffer.from(String.fromCodePoint(point))]);
  }

  private replace(taken: number, by: readonly number[]): boolean {
    const from = this.length - taken;
    const start = this.starts[from] as number;
    const end = this.ends[this.length - 1] as number;
    if (end - start > MAX_SPELLING) return false;
    this.length = from;
    for (const byte of by) this.put(byte, start, end);
    this.findMark();
    return true;
  }

  private findMark(): void {
    const from = Math.max(0, this.length - LONGEST);
    this.mark = -LONGEST - 1;
    for (let at = from; at < this.length; at++)
      if (BEGINS_ESCAPE[this.bytes[at] as number] === 1) this.mark = at;
  }

  /** An open escape may turn into a part of the one before it. */
  private findPending(): number {
    let pending = this.length;
    for (let depth = 0; depth < MAX_NESTING; depth++) {
      const from = Math.max(0, pending - LONGEST);
      const found = OPEN.exec(this.bytes.toString('latin1', from, pending));
      if (found === null) return pending;
      pending = from + found.index;
    }
    return pending;
  }
}

/** As UTF-8 would write it, halves of a character too. */
function utf8Of(unit: number): number[] {
  if (unit < 0x80) return [unit];
  if (unit < 0x800) return [0xc0 | (unit >> 6), 0x80 | (unit & 0x3f)];
  return [0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)];
}

function unitAt(bytes: Buffer, at: number): number {
  const [first = 0, second = 0, third = 0] = bytes.subarray(at, at + 3);
  return ((first & 0x0f) << 12) | ((second & 0x3f) << 6) | (third & 0x3f);
}
