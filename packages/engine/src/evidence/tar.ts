/**
 * The container of an export: a ustar archive in which every byte is determined by names, sizes and contents
 * (owner 0, mode 0644, time 0, no extensions). Any tar can unpack it; our reader accepts no other spelling.
 */
import { EvidenceMalformedError, IncompleteError } from './errors.ts';

export const BLOCK_BYTES = 512;
const ZERO_BLOCK = Buffer.alloc(BLOCK_BYTES);
/** Two empty blocks. */
export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES);
const MAX_SIZE = 0o77777777777;

export interface TarEntry {
  readonly name: string;
  readonly offset: number;
  readonly size: number;
}

/** Random access to the bytes of a container. */
export interface ByteSource {
  readonly size: number;
  /** Exactly that many bytes; callers stay within `size`. */
  readAt(offset: number, length: number): Buffer;
}

export function encodeTarHeader(name: string, size: number): Buffer {
  if (Buffer.byteLength(name) > 99 || size > MAX_SIZE)
    throw new EvidenceMalformedError(`part ${name} does not fit into a tar`);
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0);
  header.write('0000644\0' + '0000000\0' + '0000000\0', 100);
  header.write(`${size.toString(8).padStart(11, '0')}\0${'0'.repeat(11)}\0`, 124);
  header.write('        0', 148);
  header.write('ustar\x0000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

export function paddingOf(size: number): Buffer {
  return ZERO_BLOCK.subarray(0, (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES);
}

/** Reads the whole structure; throws naming the part at which it is broken. */
export function listTar(source: ByteSource): TarEntry[] {
  const entries: TarEntry[] = [];
  const names = new Set<string>();
  let position = 0;
  for (;;) {
    const after = entries.at(-1)?.name;
    const where = after === undefined ? 'the beginning' : `the part after ${after}`;
    const header = readWithin(source, position, BLOCK_BYTES, where);
    if (header.equals(ZERO_BLOCK)) break;
    const entry = parseHeader(header, position + BLOCK_BYTES, where);
    if (names.has(entry.name)) throw new EvidenceMalformedError(`part ${entry.name} is there twice`);
    const padding = paddingOf(entry.size).length;
    if (entry.offset + entry.size + padding > source.size)
      throw new IncompleteError(`part ${entry.name} is cut short`);
    if (!source.readAt(entry.offset + entry.size, padding).equals(paddingOf(entry.size))) {
      throw new EvidenceMalformedError(`part ${entry.name} is followed by stray bytes`);
    }
    names.add(entry.name);
    entries.push(entry);
    position = entry.offset + entry.size + padding;
  }
  const rest = source.size - position;
  if (!source.readAt(position, Math.min(rest, TAR_END.length)).equals(TAR_END.subarray(0, rest)))
    throw new EvidenceMalformedError('the end of the container is damaged');
  if (rest < TAR_END.length) throw new IncompleteError('the end of the container is cut short');
  if (rest > TAR_END.length) throw new EvidenceMalformedError('something follows the end of the container');
  return entries;
}

function readWithin(source: ByteSource, offset: number, length: number, where: string): Buffer {
  if (offset + length <= source.size) return source.readAt(offset, length);
  const rest = source.readAt(offset, source.size - offset).toString('latin1');
  // What does not begin like a header is not ours.
  if (!/^[a-z0-9./-]*(\0|$)/.test(rest)) throw new EvidenceMalformedError(`${where} is not ours`);
  throw new IncompleteError(`container is cut short at ${where}`);
}

function parseHeader(header: Buffer, offset: number, where: string): TarEntry {
  const name = header.toString('latin1', 0, header.indexOf(0));
  const digits = header.toString('latin1', 124, 135);
  const size = /^[0-7]{11}$/.test(digits) ? Number.parseInt(digits, 8) : -1;
  const isOurs = /^[a-z0-9./-]{1,99}$/.test(name) && size >= 0 && encodeTarHeader(name, size).equals(header);
  if (!isOurs) throw new EvidenceMalformedError(`header of ${where} is damaged or not ours`);
  return { name, offset, size };
}
