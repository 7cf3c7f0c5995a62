/**
 * What the user's code prints goes to the descriptor at once: through the main thread it would be kept in memory there for
 * as long as this thread does not pause.
 */
import { writeSync } from 'node:fs';

export function printDirectly(): void {
  for (const [stream, fd] of [
    [process.stdout, 1],
    [process.stderr, 2],
  ] as const) {
    stream.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
      writeQuietly(fd, chunk);
      const done = rest.find((each) => typeof each === 'function') as (() => void) | undefined;
      done?.();
      return true;
    };
  }
}

/** Output that nobody can take is lost; it is no error of the code that printed it. */
function writeQuietly(fd: number, chunk: string | Uint8Array): void {
  const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
  } catch (error) {
    if (!['EAGAIN', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
