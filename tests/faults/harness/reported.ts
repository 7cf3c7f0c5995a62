/**
 * What the workers of a case wrote down themselves. Their files go with the clean-up of a run; a second name for each,
 * given as soon as it is seen, keeps them. It is on the same file system, so that it shares the fate of the first.
 */
import { linkSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseWorkerLine, type WorkerLine } from '@caisson/protocol';
import { listFolder } from '../moments.ts';
import type { Stage } from './contract.ts';

type Place = Pick<Stage, 'stateDir' | 'setting'>;

const LOOK_EVERY_MS = 5;

/** Looks until the returned function is called. */
export function watchReported(place: Place): () => void {
  const timer = setInterval(() => keepReported(place), LOOK_EVERY_MS);
  return () => clearInterval(timer);
}

function keepReported(place: Place): void {
  const known = listFolder(reportedFolder(place));
  const folder = join(place.stateDir, 'runtime/events');
  for (const name of listFolder(folder).filter((each) => !known.includes(each)))
    try {
      mkdirSync(reportedFolder(place), { recursive: true });
      linkSync(join(folder, name), join(reportedFolder(place), name));
    } catch {
      // it is gone by now, or its disk fails: the next check tries again
    }
}

export interface Reported {
  readonly runId: string;
  readonly attempt: number;
  readonly lines: readonly WorkerLine[];
}

export function readReported(place: Place): Reported[] {
  return listFolder(reportedFolder(place)).map((name) => {
    const [runId = '', attempt] = name.split('.');
    const text = readFileSync(join(reportedFolder(place), name), 'utf8');
    return { runId, attempt: Number(attempt), lines: text.split('\n').flatMap(parseLine) };
  });
}

/** The first line is a header, and the last one may have been cut off. */
function parseLine(text: string): WorkerLine[] {
  try {
    return [parseWorkerLine(JSON.parse(text)).line].filter((line) => line !== null);
  } catch {
    return [];
  }
}

/** Outside of the user's project and of the state folder. */
function reportedFolder({ stateDir, setting }: Place): string {
  const beside = setting.state === 'tmpfs' ? dirname(stateDir) : dirname(dirname(stateDir));
  return join(beside, 'reported');
}
