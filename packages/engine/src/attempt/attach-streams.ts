/** A person's streams, joined to the worker that runs their command. */
import { createFrameReader, type FramePart, type Job } from '@caisson/protocol';
import type { Attachment } from '../admission/index.ts';
import type { WorkerProcess } from '../compute/index.ts';

/** So much is read while a write is under way; then the pipe fills, and the command waits. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** A short part takes far more memory than its bytes. */
const MAX_WAITING_PARTS = 8192;

export interface AttachedStreams {
  /** Resolves when everything that the command printed was taken. */
  readonly delivered: Promise<void>;
}

export function attachStreams(
  { attached }: Pick<Job, 'attached'>,
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
  let waiting: StreamParts[] = [];
  let bytes = 0;
  let parts = 0;
  let isWriting = false;
  let isOver = false;
  const isFull = (): boolean => bytes >= MAX_WAITING_BYTES || parts >= MAX_WAITING_PARTS;
  return new Promise((resolve) => {
    const writeWaiting = async (): Promise<void> => {
      isWriting = true;
      while (waiting.length > 0) {
        const taken = waiting;
        waiting = [];
        for (const next of taken) {
          await write(next.name, next.parts);
          bytes -= sizeOf(next.parts);
          parts -= next.parts.length;
          if (!isFull()) output.resume();
        }
      }
      isWriting = false;
      if (isOver) resolve();
    };
    output.on('data', (chunk: Buffer) => {
      for (const part of read(chunk)) {
        addPart(waiting, part);
        bytes += part.bytes.length;
        parts += 1;
      }
      if (isFull()) output.pause();
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
  readonly parts: Uint8Array[];
}

/** What follows on the same stream is written in one call: that takes less time than to write or join its parts. */
function addPart(waiting: StreamParts[], { name, bytes }: FramePart): void {
  const last = waiting.at(-1);
  if (last?.name === name) last.parts.push(bytes);
  else waiting.push({ name, parts: [bytes] });
}

const sizeOf = (parts: readonly Uint8Array[]): number => parts.reduce((sum, part) => sum + part.length, 0);
