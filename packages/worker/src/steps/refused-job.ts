/** Apart, because it takes the schema library, which a worker with a good job never loads. */
import { Job } from '@caisson/protocol';

/** Throws what the schema says about a job that was refused. */
export function explainRefusal(value: unknown): Job {
  return Job.parse(value);
}
