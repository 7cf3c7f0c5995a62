/** The person's own streams around a plain command: it prints to them, and reads from them. */
import { constants, fstatSync, openSync, readSync, closeSync, type Stats } from 'node:fs';
import type { Attachment } from '@caisson/engine';
import { isForeground } from './ask-on-terminal.ts';
import type { Output } from './output.ts';

export function createAttachment(output: Output): Attachment {
  const streams = output.format === 'human' ? { write: output.pass, isMerged: isSamePlace(1, 2) } : {};
  return { ...streams, ...(!process.stdin.isTTY || isForeground() ? { input: process.stdin } : {}) };
}

function isSamePlace(one: number, other: number): boolean {
  const [left, right] = [fstatSync(one), fstatSync(other)];
  return left.ino === right.ino && left.dev === right.dev;
}

/** Whether something waits on our stdin: for commands that cannot get it. What is found is lost. */
export function hasInput(): boolean {
  const stat = fstatSync(0);
  if (stat.isFile()) return readByte(0);
  return stat.isFIFO() && pipeHasInput(stat);
}

/** Nothing waits, or nobody can say: another user's pipe cannot be opened again. */
const UNKNOWN = new Set<string | undefined>(['EAGAIN', 'EACCES', 'ENXIO']);

/** Opened again, because the descriptor itself would wait for its writer. */
function pipeHasInput(stat: Stats): boolean {
  let fd: number | undefined;
  try {
    fd = openSync('/proc/self/fd/0', constants.O_RDONLY | constants.O_NONBLOCK);
    return fstatSync(fd).ino === stat.ino && readByte(fd);
  } catch (error) {
    if (UNKNOWN.has((error as NodeJS.ErrnoException).code)) return false;
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

const readByte = (fd: number): boolean => readSync(fd, Buffer.alloc(1)) > 0;
