/** Entry of the worker: one process, one attempt. */
import { prepareLaunch } from '@caisson/ground';
import { carryOut } from './carry-out.ts';
import {
  expectsNetwork,
  hasViewInJob,
  openControl,
  type Control,
  isSpare,
  readWorkerEnvironment,
  type WorkerEnvironment,
} from './attempt/index.ts';
import { parseJob, warmNetwork } from './steps/index.ts';

/** What was carried out: the start of the bundle keeps compiled code for each of these (load-warm.cjs). */
export let usedFor: 'agent' | 'command' | null = null;

// The terminal's Ctrl-C is for the host, which informs us over the control pipe; we stay to report.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('SIGHUP', () => undefined);
void work(openControl());

async function work(control: Control): Promise<void> {
  const environment = isSpare() ? await awaitAssignment(control) : readWorkerEnvironment();
  const job = await parseJob(environment);
  usedFor = job.runtime.name === 'command' ? 'command' : 'agent';
  const code = await carryOut(job, environment, control);
  process.exit(code); // what is still open (a stream without a reader, a timer) is not needed
}

/** A host without a job for us ends, or ends us; there is nothing to report then. */
async function awaitAssignment(control: Control): Promise<WorkerEnvironment> {
  prepareLaunch({ isViewListed: hasViewInJob() });
  if (expectsNetwork()) warmNetwork();
  const assignment = await control.waitForAssignment().catch(() => process.exit(0));
  process.chdir(assignment.cwd);
  return readWorkerEnvironment(assignment.env);
}
