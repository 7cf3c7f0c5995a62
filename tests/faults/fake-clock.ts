/** A wall clock that a test moves under every process of a project. Monotonic time goes on as it is. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Project } from '../e2e/project.ts';

export const LIBFAKETIME = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1',
].find((path) => existsSync(path));

export interface FakeClock {
  /** For example `+3600` or `-86400`: seconds from the real time. */
  jump(offset: string): void;
}

/** For every process that the project starts from now on. */
export function fakeClock(project: Project): FakeClock {
  if (LIBFAKETIME === undefined) throw new Error('libfaketime is needed: apt-get install libfaketime');
  const file = join(project.root, '../clock');
  writeFileSync(file, '+0\n');
  Object.assign(project.env, clockVariables(file));
  return { jump: (offset) => writeFileSync(file, `${offset}\n`) };
}

/** What makes a process read its wall clock's offset from a file. */
export function clockVariables(file: string): Record<string, string> {
  return {
    LD_PRELOAD: LIBFAKETIME ?? '',
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  };
}
