import type { LaunchOptions, SandboxProcess, SandboxSpec } from './contract.ts';
import { SandboxSpecError } from './errors.ts';
import { launchBwrap } from './launch-bwrap.ts';
import { launchPlain } from './launch-plain.ts';

/**
 * Starts a program in the sandbox that `spec` describes, or without one if `none` was requested by name. Rejects when
 * the sandbox cannot be built or the program does not exist inside; then nothing of it has run.
 */
export async function launchSandbox(spec: SandboxSpec, options: LaunchOptions = {}): Promise<SandboxProcess> {
  if (spec.argv.length === 0) throw new SandboxSpecError('There is no program to start: argv is empty.');
  options.signal?.throwIfAborted();
  return spec.kind === 'bwrap' ? launchBwrap(spec, options) : launchPlain(spec, options);
}
