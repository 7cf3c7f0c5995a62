/** The newest lines of a log. A log may have any size; the page keeps a part of it. */
import { lastOverwrite, parseAnsi, PLAIN, type AnsiStyle } from './parse-ansi.ts';

export interface LogLine {
  readonly text: string;
  /** The colours that lines before it left on. */
  readonly start: AnsiStyle;
}

const MAX_LINES = 100_000;
const MAX_CHARS = 16 * 1024 * 1024;
/** A longer line is cut, with a note. */
const MAX_LINE_CHARS = 4096;

export class LogBuffer {
  readonly #maxLines: number;
  readonly #maxChars: number;
  #lines: LogLine[] = [];
  #chars = 0;
  #rest = '';
  #restDropped = 0;
  #style = PLAIN;
  #droppedLines = 0;

  constructor({ maxLines = MAX_LINES, maxChars = MAX_CHARS } = {}) {
    this.#maxLines = maxLines;
    this.#maxChars = maxChars;
  }

  /** Lines that came first and are no longer kept. */
  get droppedLines(): number {
    return this.#droppedLines;
  }

  /** What is kept, with the line that has not ended yet. */
  get lines(): readonly LogLine[] {
    return this.#rest === '' ? this.#lines : [...this.#lines, this.#toLine(this.#rest)];
  }

  push(text: string): void {
    const parts = text.split('\n');
    const last = parts.pop() ?? '';
    for (const part of parts) this.#endLine(part);
    this.#extend(last);
    this.#drop();
  }

  #extend(text: string): void {
    const room = Math.max(0, MAX_LINE_CHARS * 4 - this.#rest.length);
    this.#rest += text.slice(0, room);
    this.#restDropped += Math.max(0, text.length - room);
  }

  #endLine(part: string): void {
    this.#extend(part);
    const line = this.#toLine(this.#rest);
    this.#rest = '';
    this.#restDropped = 0;
    this.#lines.push(line);
    this.#chars += line.text.length;
    if (line.text.includes('\u001b')) this.#style = parseAnsi(line.text, line.start).end;
  }

  #toLine(raw: string): LogLine {
    const text = lastOverwrite(raw);
    const over = text.length - MAX_LINE_CHARS + this.#restDropped;
    const isCut = text.length > MAX_LINE_CHARS;
    return {
      text: isCut ? `${text.slice(0, MAX_LINE_CHARS)} … ${over} more characters` : text,
      start: this.#style,
    };
  }

  /** A tenth at once, so that not every line moves all others. */
  #drop(): void {
    if (this.#lines.length <= this.#maxLines && this.#chars <= this.#maxChars) return;
    let count = Math.max(this.#lines.length - this.#maxLines, Math.ceil(this.#lines.length / 10));
    let chars = this.#chars;
    for (let index = 0; index < this.#lines.length; index += 1) {
      if (index >= count && chars <= this.#maxChars) break;
      chars -= this.#lines[index]?.text.length ?? 0;
      count = Math.max(count, index + 1);
    }
    this.#lines = this.#lines.slice(count);
    this.#chars = chars;
    this.#droppedLines += count;
  }
}
