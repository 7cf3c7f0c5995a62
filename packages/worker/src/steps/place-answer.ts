import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { definedOnly, type Job } from '@caisson/protocol';

/** An agent reads the answer in its prompt; a plain command finds it in `.caisson/answer.json`. */
export function placeAnswer(job: Job): void {
  if (job.answer === undefined || job.runtime.name !== 'command') return;
  const { partialState, ...answer } = job.answer;
  const reported = { ...answer, ...definedOnly({ partial_state: partialState }) };
  mkdirSync(job.paths.mailbox, { recursive: true, mode: 0o700 }); // without a sandbox it does not exist yet
  writeFileSync(join(job.paths.mailbox, 'answer.json'), JSON.stringify(reported), { mode: 0o600 });
}
