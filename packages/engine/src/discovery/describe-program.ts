import { realpath, stat } from 'node:fs/promises';
import { findProgram } from './find-program.ts';

/** A program's file, and what changes whenever the file may have. */
export interface ProgramFile {
  readonly path: string;
  readonly bytes: number;
  readonly state: string;
}

/** Null when there is no such program. */
export async function describeProgram(program: string, searchPath: string): Promise<ProgramFile | null> {
  const found = program === '' ? null : findProgram(program, searchPath, '/');
  if (found === null) return null;
  try {
    const path = await realpath(found);
    const { size, mtimeNs, ctimeNs, dev, ino } = await stat(path, { bigint: true });
    return { path, bytes: Number(size), state: [path, size, mtimeNs, ctimeNs, dev, ino].join(':') };
  } catch {
    return null; // it went meanwhile, as a program that is replaced may
  }
}
