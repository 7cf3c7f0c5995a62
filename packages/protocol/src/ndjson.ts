/**
 * NDJSON on bytes: one JSON value a line, ended only by LF. U+2028 never splits, CR is whitespace.
 *
 * N1  The values do not depend on how the bytes were split into chunks.
 * N2  Every bad line is exactly one `malformed` record, and does not affect the next line.
 * N3  Memory is limited by `maxLineBytes`, also for a line that never ends.
 */

/** At most this many bytes a line, without its LF. */
export const MAX_NDJSON_LINE_BYTES = 1024 * 1024;

const HEAD_BYTES = 200;
const LF = 10;

export type MalformedReason = 'not-json' | 'too-long' | 'invalid-utf8' | 'unterminated' | 'nul';

export interface MalformedLine {
  readonly kind: 'malformed';
  readonly reason: MalformedReason;
  /** Length of the line without its LF. */
  readonly bytes: number;
  /** How the line began, for people. */
  readonly head: string;
}

export type Decoded = { readonly kind: 'value'; readonly value: unknown } | MalformedLine;

export interface NdjsonDecoderOptions {
  readonly maxLineBytes?: number;
  /**
   * Accept a last line without LF when it is complete JSON, for programs that do not end their last line. A torn object
   * or array can never be mistaken for a complete one; a torn number could, so anything else stays `unterminated`.
   */
  readonly allowUnterminated?: boolean;
}

export interface NdjsonDecoder {
  /** Returns the values of the lines completed by this chunk. The chunk may be reused afterwards. */
  push(chunk: Uint8Array): Decoded[];
  /** Returns the record of a line left open, if any, and starts afresh. */
  end(): Decoded[];
}

/** Writes a value as one line with its LF. Throws for what JSON cannot express (`undefined`, functions, cycles). */
export function encodeNdjson(value: unknown): string {
  const json: string | undefined = JSON.stringify(value);
  if (json === undefined)
    throw new TypeError(`A value of type ${typeof value} has no JSON form; send null instead.`);
  return `${json.replace(/[\u2028\u2029]/g, escapeSeparator)}\n`;
}

/** Some readers treat U+2028 as the end of a line; escaping it is safe for them. */
function escapeSeparator(char: string): string {
  return char === '\u2028' ? '\\u2028' : '\\u2029';
}

export function createNdjsonDecoder(options: NdjsonDecoderOptions = {}): NdjsonDecoder {
  const maxLineBytes = options.maxLineBytes ?? MAX_NDJSON_LINE_BYTES;
  const open = createOpenLine(maxLineBytes);

  return {
    push(chunk) {
      const out: Decoded[] = [];
      let from = 0;
      if (open.length() > 0) {
        const lf = chunk.indexOf(LF);
        open.append(chunk.subarray(0, lf === -1 ? chunk.length : lf));
        if (lf === -1) return out;
        if (open.isTooLong()) out.push(malformed('too-long', open.length(), open.bytes()));
        else decodeLine(open.bytes(), out);
        open.reset();
        from = lf + 1;
      }
      const end = chunk.lastIndexOf(LF) + 1;
      if (end > from) decodeLines(chunk.subarray(from, end), maxLineBytes, out);
      open.append(chunk.subarray(Math.max(from, end)));
      return out;
    },
    end() {
      const out: Decoded[] = [];
      if (open.length() > 0) decodeLast(open, options.allowUnterminated === true, out);
      open.reset();
      return out;
    },
  };
}

/** Complete lines, each with its LF. Decoding them as one text and splitting that makes the codec fast. */
function decodeLines(bytes: Uint8Array, maxLineBytes: number, out: Decoded[]): void {
  const text = decodeLossy(bytes);
  // Only a text without replacement characters has the true bytes of its lines.
  if (text.includes('\uFFFD')) return decodeEachLine(bytes, maxLineBytes, out);
  let start = 0;
  while (start < text.length) {
    const end = text.indexOf('\n', start);
    const line = text.slice(start, end);
    start = end + 1;
    // One UTF-16 unit is one to three bytes, so counting is needed only near the cap.
    if (line.length * 3 > maxLineBytes) decodeCounted(line, maxLineBytes, out);
    else decodeText(line, out);
  }
}

function decodeEachLine(bytes: Uint8Array, maxLineBytes: number, out: Decoded[]): void {
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(LF, start);
    const line = bytes.subarray(start, end);
    if (line.length > maxLineBytes) out.push(malformed('too-long', line.length, line));
    else decodeLine(line, out);
    start = end + 1;
  }
}

function decodeCounted(line: string, maxLineBytes: number, out: Decoded[]): void {
  const bytes = encoder.encode(line);
  if (bytes.length > maxLineBytes) out.push(malformed('too-long', bytes.length, bytes));
  else decodeText(line, out);
}

function decodeLine(bytes: Uint8Array, out: Decoded[]): void {
  const text = decodeLossy(bytes);
  if (text.includes('\uFFFD') && !isUtf8(bytes)) out.push(malformed('invalid-utf8', bytes.length, bytes));
  else decodeText(text, out);
}

function decodeText(line: string, out: Decoded[]): void {
  try {
    out.push({ kind: 'value', value: JSON.parse(line) as unknown });
  } catch {
    if (isBlank(line)) return;
    const bytes = encoder.encode(line);
    out.push(malformed(line.includes('\0') ? 'nul' : 'not-json', bytes.length, bytes));
  }
}

function decodeLast(open: OpenLine, allowUnterminated: boolean, out: Decoded[]): void {
  const bytes = open.bytes();
  if (open.isTooLong()) return void out.push(malformed('too-long', open.length(), bytes));
  const decoded: Decoded[] = [];
  decodeLine(bytes, decoded);
  const last = decoded[0];
  if (last === undefined) return; // blank
  const isWhole = last.kind === 'value' && typeof last.value === 'object' && last.value !== null;
  out.push(allowUnterminated && isWhole ? last : malformed('unterminated', bytes.length, bytes));
}

interface OpenLine {
  append(part: Uint8Array): void;
  /** All bytes of the line, or only its head once it is too long. */
  bytes(): Uint8Array;
  length(): number;
  isTooLong(): boolean;
  reset(): void;
}

/** The line whose LF is still missing. Grows by doubling, so that single bytes cost no more than chunks. */
function createOpenLine(maxLineBytes: number): OpenLine {
  let buffer = new Uint8Array(0);
  let length = 0;
  const kept = (): number => (length > maxLineBytes ? Math.min(HEAD_BYTES, length) : length);
  return {
    append(part) {
      if (part.length === 0) return;
      const room = Math.max(maxLineBytes, HEAD_BYTES);
      const take = length >= room ? 0 : Math.min(part.length, room - length);
      if (take > 0) {
        buffer = withCapacity(buffer, length, take);
        buffer.set(take === part.length ? part : part.subarray(0, take), length);
      }
      length += part.length;
      if (length > maxLineBytes && buffer.length > HEAD_BYTES) buffer = buffer.slice(0, HEAD_BYTES); // N3
    },
    bytes: () => buffer.subarray(0, kept()),
    length: () => length,
    isTooLong: () => length > maxLineBytes,
    reset() {
      length = 0;
      if (buffer.length > 65_536) buffer = new Uint8Array(0);
    },
  };
}

function withCapacity(buffer: Uint8Array<ArrayBuffer>, used: number, more: number): Uint8Array<ArrayBuffer> {
  if (used + more <= buffer.length) return buffer;
  const grown = new Uint8Array(Math.max(1024, buffer.length * 2, used + more));
  grown.set(buffer.subarray(0, used));
  return grown;
}

function malformed(reason: MalformedReason, bytes: number, line: Uint8Array): MalformedLine {
  return { kind: 'malformed', reason, bytes, head: decodeLossy(line.subarray(0, HEAD_BYTES)) };
}

function isBlank(line: string): boolean {
  return /^[ \t\r]*$/.test(line);
}

const encoder = new TextEncoder();
const lossyDecoder = new TextDecoder('utf-8', { ignoreBOM: true });
const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** In Node, Buffer decodes short text faster than TextDecoder does; a browser has only the latter. */
const decodeLossy: (bytes: Uint8Array) => string =
  typeof globalThis.Buffer === 'function'
    ? (bytes) => globalThis.Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
    : (bytes) => lossyDecoder.decode(bytes);

function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictDecoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}
