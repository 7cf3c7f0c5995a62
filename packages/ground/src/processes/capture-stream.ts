import type { Readable } from 'node:stream';

export interface StreamCapture {
  bytes(): Buffer;
  seen(): number;
  isTruncated(): boolean;
}

/** Keeps the first `maxBytes` of a stream and reads on to its end, so that the writer never blocks on us. */
export function captureStream(stream: Readable | null, maxBytes: number): StreamCapture {
  const chunks: Buffer[] = [];
  let kept = 0;
  let seen = 0;
  stream?.on('data', (chunk: Buffer) => {
    seen += chunk.length;
    if (kept >= maxBytes) return;
    const part = kept + chunk.length > maxBytes ? chunk.subarray(0, maxBytes - kept) : chunk;
    chunks.push(part);
    kept += part.length;
  });
  // A pipe error after the child is gone changes nothing: the exit is the result.
  stream?.on('error', () => stream.destroy());
  return { bytes: () => Buffer.concat(chunks, kept), seen: () => seen, isTruncated: () => seen > kept };
}
