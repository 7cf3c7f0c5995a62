/** Entry of the worker of a resident: one process, one start of one key. */
import type { Socket } from 'node:net';
import { prepareLaunch } from '@caisson/ground';
import { isSpare, readWorkerEnvironment, type WorkerEnvironment } from '../attempt/index.ts';
import { openOrders } from './host-link.ts';
import { readAssignment } from './read-assignment.ts';
import { readJobFile } from './read-job-file.ts';
import { serveResident } from './serve-resident.ts';

// The terminal's Ctrl-C is for the host, which coordinates the end.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('SIGHUP', () => undefined);
void work(openOrders());

async function work(orders: Socket): Promise<void> {
  prepareLaunch();
  const environment = isSpare() ? await awaitAssignment(orders) : readWorkerEnvironment();
  await serveResident(readJobFile(environment.jobFile), orders, environment.parentPid);
  process.exit(0); // what is still open (a stream without a reader, a timer) is not needed
}

/** A host without work for us ends, or ends us; there is nothing to report then. */
async function awaitAssignment(orders: Socket): Promise<WorkerEnvironment> {
  const assignment = await readAssignment(orders).catch(() => process.exit(0));
  process.chdir(assignment.cwd);
  return readWorkerEnvironment(assignment.env);
}
