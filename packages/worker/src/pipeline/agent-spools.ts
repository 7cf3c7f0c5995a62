/** Where the output of a pipeline's agents goes: one file a stream, in the order in which they ran. */
import { join } from 'node:path';
import { type AttemptContext, openSpool, type Spool } from '../attempt/index.ts';

const RECORD_STDOUT_BYTES = 4 * 1024 * 1024;
const RECORD_STDERR_BYTES = 256 * 1024;

export interface AgentSpools {
  readonly stdout: Spool;
  readonly stderr: Spool;
}

export function openAgentSpools(context: AttemptContext): AgentSpools {
  const { spool } = context.job.paths;
  const options = { capBytes: context.job.spoolBytes, redactor: context.redactor };
  const open = (name: 'stdout' | 'stderr'): Spool =>
    openSpool(join(spool, name), {
      ...options,
      onBytes: (chunk) => context.attached?.write(name, chunk),
    });
  return { stdout: open('stdout'), stderr: open('stderr') };
}

/** The record holds what every agent so far printed; it is closed after this. */
export function recordLogs({ gathered }: AttemptContext, spools: AgentSpools): void {
  const before = gathered.logs;
  const record = (stream: 'stdout' | 'stderr', maxBytes: number): { bytes: Buffer; truncated: boolean } => {
    const { bytes, truncated } = spools[stream].readRecord(maxBytes);
    return { bytes, truncated: truncated || (before?.[stream].truncated ?? false) };
  };
  gathered.logs = {
    stdout: record('stdout', RECORD_STDOUT_BYTES),
    stderr: record('stderr', RECORD_STDERR_BYTES),
  };
}
