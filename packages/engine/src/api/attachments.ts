/** The streams of callers around their plain commands: opened by a dispatch, fetched and fed by two requests of its caller. */
import { PassThrough, type Readable } from 'node:stream';
import { once } from 'node:events';
import { CaissonError, encodeFrameHead, type OutputName } from '@caisson/protocol';
import type { Attachment } from '../admission/index.ts';
import { createPrefixedId } from '../platform/index.ts';
import type { Clock } from '@caisson/ground';

/** Once a caller has the answer to its dispatch: one that has not come for its streams by then does not hold up its command. */
const OPEN_WITHIN_MS = 10_000;

/** There is no such attachment, another request has it, or its caller came too late. */
export class AttachmentGoneError extends CaissonError {
  readonly code = 'ATTACHMENT_GONE';

  constructor(id: string) {
    super(`the streams of ${id} are not open (any more)`, {
      remedy: 'What the command prints is recorded: caisson logs RUN.',
    });
  }
}

export interface Attachments {
  open(asked: AskedStreams): { readonly id: string; readonly attachment: Attachment };
  /** Its run is accepted: from now on it is dropped if its caller does not come for it in time. */
  expectReader(id: string): void;
  /** There is no run. */
  drop(id: string): void;
  /** What the command prints, in frames. Throws AttachmentGoneError. */
  output(id: string): Readable;
  /** Passes on what the caller sends, until it ends. Throws AttachmentGoneError. */
  feed(id: string, input: Readable): Promise<void>;
  /** The run has ended: what was printed can still be fetched, and nothing more comes. */
  end(id: string): void;
}

export interface AskedStreams {
  readonly writes: boolean;
  readonly reads: boolean;
  readonly isMerged?: boolean | undefined;
}

interface Open {
  readonly output: PassThrough;
  readonly input: PassThrough | null;
  isFetched: boolean;
}

export function createAttachments(clock: Clock): Attachments {
  const all = new Map<string, Open>();
  const drop = (id: string): void => {
    const open = all.get(id);
    if (open === undefined) return;
    all.delete(id);
    open.output.destroy();
    open.input?.end();
  };
  return {
    open(asked) {
      const id = createPrefixedId('attachment', clock);
      const open: Open = {
        output: new PassThrough(),
        input: asked.reads ? new PassThrough() : null,
        isFetched: !asked.writes,
      };
      open.output.on('error', () => undefined); // its reader is gone
      open.input?.on('error', () => undefined);
      all.set(id, open);
      return { id, attachment: toAttachment(open, asked) };
    },
    expectReader(id) {
      clock.setTimer(OPEN_WITHIN_MS, () => {
        if (all.get(id)?.isFetched === false) drop(id);
      });
    },
    drop,
    output(id) {
      const open = all.get(id);
      if (open === undefined || open.isFetched) throw new AttachmentGoneError(id);
      open.isFetched = true;
      return open.output;
    },
    async feed(id, input) {
      const target = all.get(id)?.input;
      if (target === null || target === undefined) throw new AttachmentGoneError(id);
      if (target.closed) return; // the command has ended, or reads no more
      input.on('error', () => target.end()); // the caller is gone: an end of file
      input.pipe(target);
      await once(target, 'close').catch(() => undefined);
    },
    end(id) {
      const open = all.get(id);
      if (open === undefined) return;
      open.output.end();
      open.input?.destroy();
      if (open.isFetched) all.delete(id);
    },
  };
}

function toAttachment(open: Open, { writes, isMerged }: AskedStreams): Attachment {
  return {
    ...(writes
      ? { write: (name: OutputName, parts: readonly Uint8Array[]) => write(open.output, name, parts) }
      : {}),
    ...(open.input === null ? {} : { input: open.input }),
    ...(isMerged === undefined ? {} : { isMerged }),
  };
}

/** Waits while the caller does not read; a caller that is gone costs nothing. */
async function write(output: PassThrough, name: OutputName, parts: readonly Uint8Array[]): Promise<void> {
  if (output.destroyed || output.writableEnded) return;
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  let isTaken = output.write(encodeFrameHead(name, length));
  for (const part of parts) isTaken = output.write(part);
  if (isTaken) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      output.off('drain', done);
      output.off('close', done);
      resolve();
    };
    output.on('drain', done);
    output.on('close', done);
  });
}
