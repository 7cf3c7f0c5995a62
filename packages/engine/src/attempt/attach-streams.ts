/** A person's streams, joined to the worker that runs their command. */
import { createFrameReader, type FramePart, type Job } from '@caisson/protocol';
import type { Attachment } from '../admission/index.ts';
import type { WorkerProcess } from '../compute/index.ts';

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
  return { delivered: attached?.output === true ? passOn(output, attachment) : Promise.resolve() };
}

async function passOn(output: WorkerProcess['output'], attachment: Attachment | undefined): Promise<void> {
  const read = createFrameReader();
  try {
    for await (const chunk of output)
      for (const { name, bytes } of joinParts(read(chunk as Buffer))) await attachment?.write?.(name, bytes);
  } catch {
    // the worker was killed: what it had not sent is in its spool
  }
}

/** A chunk of the pipe has parts of several frames; one write for each would take longer than to join them. */
function joinParts(parts: readonly FramePart[]): readonly FramePart[] {
  const [first] = parts;
  if (first === undefined || parts.length === 1 || parts.some(({ name }) => name !== first.name))
    return parts;
  return [{ name: first.name, bytes: Buffer.concat(parts.map(({ bytes }) => bytes)) }];
}
