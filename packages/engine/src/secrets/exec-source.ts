import { runBounded } from '@caisson/ground';
import { definedOnly } from '@caisson/protocol';
import type { SecretSource, SecretsOptions } from './contract.ts';
import { FETCH_TIMEOUT_MS, MAX_SECRET_BYTES } from './limits.ts';

/** `exec:COMMAND`: what a shell command prints. It runs as the operator, outside any sandbox. */
export function createExecSource({ env, base }: SecretsOptions): SecretSource {
  return {
    isKept: true,
    check: (command) => (command.trim() === '' ? 'there is no command' : null),
    async fetch(command, signal) {
      const run = await runBounded({
        file: '/bin/sh',
        args: ['-c', command],
        cwd: base,
        env: definedOnly(env),
        timeoutMs: FETCH_TIMEOUT_MS,
        maxOutputBytes: MAX_SECRET_BYTES,
        signal,
      });
      if (run.aborted) throw new Error('it was stopped');
      if (run.timedOut) throw new Error(`the command did not end within ${FETCH_TIMEOUT_MS / 1000} s`);
      // The command's output stays out of the message: its error text may contain the value (K1).
      if (run.exitCode !== 0)
        throw new Error(
          `the command ended with ${run.exitCode ?? run.signal ?? 'no code'}; run it by hand to see why`,
        );
      if (run.stdoutTruncated) throw new Error(`the command printed more than ${MAX_SECRET_BYTES} bytes`);
      return run.stdout.toString('utf8');
    },
  };
}
