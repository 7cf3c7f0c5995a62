/** Where the files of residents are in the state folder. Every name is made here. */
import { join } from 'node:path';

export interface ResidentPaths {
  /** The database and files of the key; they stay. */
  readonly state: string;
  /** What its code printed and logged; beside it is an older file, with `.1` at its end. */
  readonly log: string;
}

/** What one start needs; it is removed with it. */
export interface StartPaths {
  readonly folder: string;
  readonly job: string;
  readonly netSocket: string;
}

export function residentPaths(stateDir: string, key: string): ResidentPaths {
  const folder = join(stateDir, 'residents', key);
  return { state: join(folder, 'state'), log: join(folder, 'log') };
}

export function startPaths(stateDir: string, resident: string): StartPaths {
  const folder = join(stateDir, 'runtime', 'residents', resident);
  return { folder, job: join(folder, 'job.json'), netSocket: join(folder, 'net.sock') };
}
