/** The worker's only reader of its own environment: small values, none of them secret. */
export interface WorkerEnvironment {
  readonly jobFile: string;
  readonly safety: string | undefined;
  readonly parentPid: number | null;
  readonly path: string;
}

type Values = Readonly<Record<string, string | undefined>>;

/** Whether this worker was started before there was a job for it; its environment then comes over the control pipe. */
export function isSpare(): boolean {
  return process.env['CAISSON_SPARE'] === '1';
}

/** Whether the job will probably have a network; the start of the bundle reads it, too (`start.mjs`). */
export function expectsNetwork(): boolean {
  return process.env['CAISSON_EXPECTS_NETWORK'] === '1';
}

/** Whether the host lists the view of the system, and hands it over with the job. */
export function hasViewInJob(): boolean {
  return process.env['CAISSON_VIEW_IN_JOB'] === '1';
}

export function readWorkerEnvironment(values: Values = process.env): WorkerEnvironment {
  const parent = Number(values['CAISSON_PARENT_PID']);
  return {
    jobFile: values['CAISSON_JOB_FILE'] ?? '',
    safety: values['CAISSON_SAFETY'],
    parentPid: Number.isInteger(parent) && parent > 1 ? parent : null,
    path: values['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
  };
}
