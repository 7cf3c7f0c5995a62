/** A person's streams, joined to the worker that runs their command. */
import { createFrameReader, type FramePart, type Job } from '@caisson/protocol';
import type { Attachment } from '../admission/index.ts';
import type { WorkerProcess } from '../compute/index.ts';

/** So much is read while a write is under way; then the pipe fills, and the command waits. */
const MAX_WAITING_BYTES = 1024 * 1024;

export interface AttachedStreams {
  /** Resolves when everything that the command printed was taken. */
  readonly delivered: Promise<void>;
}

export function attachStreams(
  { attached }: Job,
  attachment: Attachment | undefined,
  { input, output, exited }: Pick<WorkerProcess, 'input' | 'output' | 'exited'>,
): AttachedStreams {
  const given = attached?.input === true ? attachment?.input : undefined;
  given?.pipe(input);
  void exited.then(() => {
    given?.unpipe(input);
    input.destroy();
  });
  const write = attachment?.write?.bind(attachment);
  const isPassedOn = attached?.output === true && write !== undefined;
  return { delivered: isPassedOn ? passOn(output, write) : Promise.resolve() };
}

/** A worker that is killed ends the stream: what it had not sent is in its spool. */
function passOn(output: WorkerProcess['output'], write: NonNullable<Attachment['write']>): Promise<void> {
  const read = createFrameReader();
  let waiting: FramePart[] = [];
  let bytes = 0;
  let isWriting = false;
  let isOver = false;
  return new Promise((resolve) => {
    const writeWaiting = async (): Promise<void> => {
      isWriting = true;
      while (waiting.length > 0) {
        const next = takeStream(waiting);
        waiting = waiting.slice(next.parts.length);
        await write(next.name, next.parts);
        bytes -= sizeOf(next.parts);
        if (bytes < MAX_WAITING_BYTES) output.resume();
      }
      isWriting = false;
      if (isOver) resolve();
    };
    output.on('data', (chunk: Buffer) => {
      const parts = read(chunk);
      waiting.push(...parts);
      bytes += sizeOf(parts.map((part) => part.bytes));
      if (bytes >= MAX_WAITING_BYTES) output.pause();
      if (!isWriting) void writeWaiting();
    });
    output.on('error', () => undefined);
    output.once('close', () => {
      isOver = true;
      if (!isWriting) resolve();
    });
  });
}

interface StreamParts {
  readonly name: FramePart['name'];
  readonly parts: readonly Uint8Array[];
}

/** What comes first for one stream: to write it in one call takes less time than to write or join its parts. */
function takeStream(waiting: readonly FramePart[]): StreamParts {
  const name = waiting[0]?.name ?? 'stdout';
  const other = waiting.findIndex((part) => part.name !== name);
  return { name, parts: waiting.slice(0, other === -1 ? undefined : other).map(({ bytes }) => bytes) };
}

const sizeOf = (parts: readonly Uint8Array[]): number => parts.reduce((sum, part) => sum + part.length, 0);
