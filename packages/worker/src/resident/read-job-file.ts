import { readFileSync, unlinkSync } from 'node:fs';
import { readResidentJob, type ResidentJob } from '@caisson/protocol';

/** Reads the job and unlinks it: it is read once. */
export function readJobFile(path: string): ResidentJob {
  const text = readFileSync(path, 'utf8');
  unlinkSync(path);
  const job = readResidentJob(JSON.parse(text));
  if (job === null) throw new Error('the job of this resident is not one that this version can read');
  return job;
}
