/** The person's own streams around a plain command: it prints to them, and reads from them. */
import { constants, fstatSync, openSync, readFileSync, readSync, closeSync, type Stats } from 'node:fs';
import type { Attachment } from '@caisson/engine';
import type { Output } from './output.ts';

export function createAttachment(output: Output): Attachment {
  const streams = output.format === 'human' ? { write: output.pass, isMerged: isSamePlace(1, 2) } : {};
  return { ...streams, ...(canRead() ? { input: process.stdin } : {}) };
}

function isSamePlace(one: number, other: number): boolean {
  const [left, right] = [fstatSync(one), fstatSync(other)];
  return left.ino === right.ino && left.dev === right.dev;
}

/** In the background of a terminal the kernel would stop a process that reads from it. */
function canRead(): boolean {
  if (!process.stdin.isTTY) return true;
  const [, , group, , , foreground] = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return group === foreground;
}

/** Whether something waits on our stdin: for commands that cannot get it. What is found is lost. */
export function hasInput(): boolean {
  const stat = fstatSync(0);
  if (stat.isFile()) return readByte(0);
  return stat.isFIFO() && pipeHasInput(stat);
}

/** Opened again, because the descriptor itself would wait for its writer. */
function pipeHasInput(stat: Stats): boolean {
  const fd = openSync('/proc/self/fd/0', constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return fstatSync(fd).ino === stat.ino && readByte(fd);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
    throw error;
  } finally {
    closeSync(fd);
  }
}

const readByte = (fd: number): boolean => readSync(fd, Buffer.alloc(1)) > 0;
