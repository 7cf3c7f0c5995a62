/** Entry of the worker of a resident: one process, one start of one key. */
import { readWorkerEnvironment } from '../attempt/index.ts';
import { readJobFile } from './read-job-file.ts';
import { serveResident } from './serve-resident.ts';

// The terminal's Ctrl-C is for the host, which coordinates the end.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('SIGHUP', () => undefined);
void work();

async function work(): Promise<void> {
  const environment = readWorkerEnvironment();
  await serveResident(readJobFile(environment.jobFile), environment.parentPid);
  process.exit(0); // what is still open (a stream without a reader, a timer) is not needed
}
