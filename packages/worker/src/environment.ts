/** The worker's only reader of its own environment: small values, none of them secret. */
export interface WorkerEnvironment {
  readonly jobFile: string;
  readonly safety: string | undefined;
  readonly parentPid: number | null;
  readonly path: string;
}

export function readWorkerEnvironment(): WorkerEnvironment {
  const parent = Number(process.env['CAISSON_PARENT_PID']);
  return {
    jobFile: process.env['CAISSON_JOB_FILE'] ?? '',
    safety: process.env['CAISSON_SAFETY'],
    parentPid: Number.isInteger(parent) && parent > 1 ? parent : null,
    path: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
  };
}
