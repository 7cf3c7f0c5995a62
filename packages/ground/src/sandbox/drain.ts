import type { Readable } from 'node:stream';

const DRAIN_MS = 250;

/**
 * Waits until the streams have ended, at most a short while: another process may keep the other end for ever (S2). A
 * reader that has paused a stream is waited for.
 * Streams that did not end in time are closed; what was in the pipe has been delivered to the reader.
 */
export async function drainStreams(streams: readonly Readable[], drainMs: number = DRAIN_MS): Promise<void> {
  // A stream without a reader never ends; there is nothing to wait for.
  const open = streams.filter(
    (stream) => !stream.readableEnded && !stream.destroyed && stream.readableFlowing !== null,
  );
  if (open.length === 0) return;
  const all = Promise.all(open.map(ended));
  do await orTimeout(all, drainMs);
  while (open.some((stream) => stream.isPaused() && !stream.readableEnded && !stream.destroyed));
  for (const stream of open) if (!stream.readableEnded && !hasUnreadBytes(stream)) stream.destroy();
}

async function orTimeout(work: Promise<unknown>, ms: number): Promise<void> {
  const timeout = Promise.withResolvers<void>();
  const timer = setTimeout(timeout.resolve, ms);
  await Promise.race([work, timeout.promise]);
  clearTimeout(timer);
}

/** A slow reader keeps what has already arrived. */
function hasUnreadBytes(stream: Readable): boolean {
  return stream.readableLength > 0;
}

function ended(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    stream.once('end', resolve);
    stream.once('close', resolve);
  });
}
