/** Entry of the worker: one process, one attempt. */
import { carryOut } from './attempt.ts';
import { readWorkerEnvironment } from './environment.ts';
import { parseJob } from './steps/parse-job.ts';

const environment = readWorkerEnvironment();
// The terminal's Ctrl-C is for the host, which tells us over the control pipe; we are the witness and stay.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('SIGHUP', () => undefined);
process.exitCode = await carryOut(parseJob(environment), environment);
