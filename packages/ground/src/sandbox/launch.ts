import type { LaunchOptions, SandboxProcess, SandboxSpec } from './contract.ts';
import { SandboxSpecError } from './errors.ts';
import { launchBwrap } from './launch-bwrap.ts';
import { launchPlain } from './launch-plain.ts';

/**
 * Starts a program behind the wall that `spec` describes, or without one where `none` was asked for by name.
 * Rejects when the wall cannot be built or the program does not exist inside; then nothing of it has run.
 */
export async function launchSandbox(spec: SandboxSpec, options: LaunchOptions = {}): Promise<SandboxProcess> {
  if (spec.argv.length === 0) throw new SandboxSpecError('There is no program to start: argv is empty.');
  options.signal?.throwIfAborted();
  return spec.kind === 'bwrap' ? launchBwrap(spec, options) : launchPlain(spec, options);
}
