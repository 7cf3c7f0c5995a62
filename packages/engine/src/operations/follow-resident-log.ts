/** What the code of a resident printed and prints. The file is limited by its writer, which begins it again when it is full. */
import { statSync } from 'node:fs';
import type { Engine } from '../engine.ts';
import { readFrom } from './read-from.ts';

const LOOK_MS = 250;

export async function* followResidentLog(
  { config, clock }: Pick<Engine, 'config' | 'clock'>,
  key: string,
  { follow = false, signal }: { readonly follow?: boolean; readonly signal?: AbortSignal } = {},
): AsyncGenerator<Buffer> {
  const { residentPaths } = await import('../residents/index.ts'); // loaded when it is needed
  const { log: file } = residentPaths(config.stateDir, key);
  let offset = 0;
  let inode = inodeOf(file);
  while (signal?.aborted !== true) {
    const now = inodeOf(file);
    if (now !== inode) {
      // The file was begun again: what was not read of the older one comes first.
      if (inode !== 0 && inodeOf(`${file}.1`) === inode) yield* readRest(`${file}.1`, offset);
      offset = 0;
      inode = now;
    }
    const chunk = readFrom(file, offset);
    if (chunk !== null && chunk.length > 0) {
      offset += chunk.length;
      yield chunk;
      continue;
    }
    if (!follow) return;
    await pause(clock, signal);
    if (inodeOf(file) === inode && sizeOf(file) < offset) offset = 0;
  }
}

function* readRest(file: string, start: number): Generator<Buffer> {
  for (let offset = start; ;) {
    const chunk = readFrom(file, offset);
    if (chunk === null || chunk.length === 0) return;
    offset += chunk.length;
    yield chunk;
  }
}

const inodeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.ino ?? 0;
const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

function pause(clock: Engine['clock'], signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(LOOK_MS, end);
    function end(): void {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    }
    signal?.addEventListener('abort', end, { once: true });
  });
}
