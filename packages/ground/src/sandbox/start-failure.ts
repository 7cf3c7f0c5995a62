/** Why a sandbox did not start. */
import { diagnose } from './diagnose.ts';
import { drainStreams } from './drain.ts';
import type { SandboxExit, SandboxSpec } from './contract.ts';
import { SandboxStartError, SandboxUnavailableError } from './errors.ts';
import type { HeadCapture } from './head-capture.ts';
import { gone, type NamedProcess } from './init-process.ts';

/** Its owner may remove a covered path while the sandbox is built: then there is nothing to cover. */
export function findVanished(error: unknown): string | null {
  if (!(error instanceof SandboxStartError)) return null;
  return (
    /Can't (?:create file at|mkdir|mkdir parents for) (\/.+): /.exec(error.message)?.[1] ??
    / on \/newroot(\/.+): /.exec(error.message)?.[1] ??
    null
  );
}

/** Waits for the end of bubblewrap, and returns what went wrong. */
export async function startFailure(
  said: 'missing' | null,
  ending: Promise<SandboxExit>,
  stderr: HeadCapture,
  spec: SandboxSpec,
  init: NamedProcess | null,
): Promise<SandboxStartError | SandboxUnavailableError> {
  const { code, signal } = await ending;
  stderr.resume();
  await gone(init);
  await drainStreams([stderr]);
  if (said === 'missing') {
    return new SandboxStartError(`The program ${spec.argv[0]} does not exist inside the sandbox.`, {
      remedy: 'Its folder must be visible there: a PATH entry, or a folder declared as toolchain.',
    });
  }
  const words = stderr.head() || 'it printed nothing';
  const diagnosis = diagnose(words);
  if (diagnosis !== null) {
    return new SandboxUnavailableError(`The sandbox cannot be built: ${diagnosis.reason}.`, {
      remedy: diagnosis.remedy,
    });
  }
  return new SandboxStartError(
    `The sandbox ended (${signal ?? code}) before ${spec.argv[0]} could run: ${words}`,
  );
}
