import { Transform, type TransformCallback } from 'node:stream';

const MAX_CAPTURED_BYTES = 2048;

/** Passes a stream on unchanged and remembers its beginning. */
export class HeadCapture extends Transform {
  readonly #parts: Buffer[] = [];
  #size = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (this.#size < MAX_CAPTURED_BYTES) {
      this.#parts.push(chunk.subarray(0, MAX_CAPTURED_BYTES - this.#size));
      this.#size += chunk.length;
    }
    done(null, chunk);
  }

  head(): string {
    return Buffer.concat(this.#parts).toString('utf8').trim();
  }
}
