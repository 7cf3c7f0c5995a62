/**
 * What the user's code prints and logs, as lines of one file with one older file beside it. It is written at a limited rate:
 * what exceeds it is counted, not kept.
 */
import { appendFileSync, renameSync, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { isErrno } from '@caisson/ground';

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_LINE_CHARACTERS = 8192;
const BYTES_PER_SECOND = 128 * 1024;
const BURST_BYTES = 512 * 1024;
const MAX_TAIL_CHARACTERS = 8000;

export interface OutputLog {
  /** One line of `name`. */
  write(name: string, text: string): void;
  /** Everything that a stream prints; its end is kept as the tail where it is asked for. */
  collect(name: string, stream: Readable): { tail(): string };
}

export function openOutputLog(path: string, nowMs = (): number => performance.now()): OutputLog {
  let size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let [allowance, countedAt, dropped] = [BURST_BYTES, nowMs(), 0];
  const refill = (): void => {
    const now = nowMs();
    allowance = Math.min(BURST_BYTES, allowance + ((now - countedAt) * BYTES_PER_SECOND) / 1000);
    countedAt = now;
  };
  const append = (line: string): void => {
    if (size > MAX_FILE_BYTES) {
      rotate(path);
      size = 0;
    }
    size += Buffer.byteLength(line);
    appendQuietly(path, line);
  };
  const write = (name: string, text: string): void => {
    const line = `${new Date().toISOString()} ${name}: ${oneLine(text.slice(0, MAX_LINE_CHARACTERS))}\n`;
    refill();
    if (line.length > allowance) return void (dropped += 1);
    allowance -= line.length;
    if (dropped > 0) append(`${new Date().toISOString()} caisson: ${dropped} lines were left out\n`);
    dropped = 0;
    append(line);
  };
  return { write, collect: (name, stream) => collectLines(stream, (line) => write(name, line)) };
}

/** A line break must not begin a line of another name, nor a control character change what a terminal shows. */
function oneLine(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => ESCAPES[character] ?? escapeCode(character));
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const ESCAPES: Readonly<Record<string, string>> = { '\t': '\t', '\n': '\\n', '\r': '\\r' };

function escapeCode(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

function collectLines(stream: Readable, write: (line: string) => void): { tail(): string } {
  let [open, tail] = ['', ''];
  stream.on('data', (chunk: Buffer) => {
    const text = chunk.toString('utf8');
    tail = (tail + text).slice(-MAX_TAIL_CHARACTERS);
    const lines = (open + text).split('\n');
    open = (lines.pop() ?? '').slice(0, MAX_LINE_CHARACTERS);
    for (const line of lines) write(line);
  });
  stream.on('error', () => undefined); // the sandbox's end says the same
  stream.once('end', () => {
    if (open !== '') write(open);
  });
  return { tail: () => tail };
}

/** A disk without space costs the log, not the resident. */
function appendQuietly(path: string, line: string): void {
  try {
    appendFileSync(path, line, { mode: 0o600 });
  } catch (error) {
    if (!isErrno(error, 'ENOSPC', 'EDQUOT', 'ENOENT')) throw error;
  }
}

function rotate(path: string): void {
  try {
    renameSync(path, `${path}.1`);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}
