export { createHostBackoff } from './host-backoff.ts';
export { recoverRun } from './recover-run.ts';
export { recover, type Recovered } from './recover.ts';
