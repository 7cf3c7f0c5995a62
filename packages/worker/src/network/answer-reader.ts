/** Reads the pieces of an answer as it passes: the events of a stream, or the whole of it. */
import { Transform } from 'node:stream';
import { createKeptBytes, type KeepLimit } from './kept-bytes.ts';

const MAX_PIECE_BYTES = 8 * 1024 * 1024;
/** How much text is in a byte that cannot be decoded: about as much as the usual encoders produce. */
const TEXT_PER_ENCODED_BYTE = 4;

export interface AnswerListener {
  /** One event of a stream, or a whole answer. */
  receive(value: unknown): void;
  /** What could not be read: no JSON, or too long. */
  miss(bytes: number): void;
  end(how: AnswerEnd): void;
}

/** `cut`: the model's side broke off. `left`: the client went away before the end. */
export type AnswerEnd = 'whole' | 'cut' | 'left';

/** Forwards every chunk at once and reads it afterwards. `limit` is for the pieces of all answers. */
export function createAnswerReader(
  contentType: string,
  listener: AnswerListener,
  limit: KeepLimit,
): Transform {
  const isStream = contentType.toLowerCase().includes('event-stream');
  const pieces = createPieces(
    { isByLine: isStream, limit },
    (piece) => readPiece(piece, isStream, listener),
    (bytes) => listener.miss(bytes),
  );
  return watchingStream(pieces.push, (how) => {
    pieces.end();
    listener.end(how);
  });
}

/** For an answer in an unknown encoding. */
export function createBlindReader(listener: AnswerListener): Transform {
  return watchingStream(
    (chunk) => listener.miss(chunk.length * TEXT_PER_ENCODED_BYTE),
    (how) => listener.end(how),
  );
}

function watchingStream(look: (chunk: Buffer) => void, onEnd: (how: AnswerEnd) => void): Transform {
  let isDone = false;
  const finish = (how: AnswerEnd): void => {
    if (!isDone) onEnd(how);
    isDone = true;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      done(null, chunk);
      look(chunk);
    },
    flush(done) {
      finish('whole');
      done();
    },
    destroy(error, done) {
      finish(isOfClient(error) ? 'left' : 'cut');
      done(error);
    },
  });
}

/** A pipeline says so where its last part, the answer to the client, was closed; so does our own `close`. */
function isOfClient(error: NodeJS.ErrnoException | null): boolean {
  return error === null || error.code === 'ERR_STREAM_PREMATURE_CLOSE';
}

function readPiece(piece: string, isStream: boolean, listener: AnswerListener): void {
  const text = (isStream ? piece.replace(/^data:/, '') : piece).trim();
  if ((isStream && !piece.startsWith('data:')) || text === '' || text === '[DONE]') return;
  const values = parsed(text);
  if (values === null) return listener.miss(Buffer.byteLength(text));
  for (const value of values) listener.receive(value);
}

/** Gemini answers with an array when events were not requested. The client reports garbage. */
function parsed(text: string): unknown[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    return null;
  }
}

function createPieces(
  { isByLine, limit }: { readonly isByLine: boolean; readonly limit: KeepLimit },
  take: (piece: string) => void,
  tooLong: (bytes: number) => void,
): { push(this: void, chunk: Buffer): void; end(): void } {
  const kept = createKeptBytes(MAX_PIECE_BYTES, limit);
  const end = (): void => {
    const { bytes } = kept;
    const text = kept.text();
    kept.clear();
    if (text === null) tooLong(bytes);
    else if (bytes > 0) take(text);
  };
  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(10); isByLine && at !== -1; at = chunk.indexOf(10, from)) {
        kept.add(chunk.subarray(from, at));
        end();
        from = at + 1;
      }
      kept.add(chunk.subarray(from));
    },
    end,
  };
}
