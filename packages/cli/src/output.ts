import { openFullScreen, type FullScreen } from './full-screen.ts';
import { createLastLine } from './last-line.ts';
import { Painted, render, STYLE, type Line, type Lines, type Style } from './painted.ts';
import { createPasser, type OutputStreams } from './pass-output.ts';
import { printableJson, printableLines } from './printable.ts';
import { isReaderGone } from './write-all.ts';

/** How results are printed. */
export type OutputFormat = 'human' | 'json' | 'ndjson';

/**
 * The only way in which commands print. With `json` and `ndjson`, stdout has only data. All text is escaped here,
 * wherever it comes from: see `painted.ts`.
 */
export interface Output {
  readonly format: OutputFormat;
  readonly isInteractive: boolean;
  /** How wide the terminal is now. */
  columns(): number;
  /** Where lines for people are wrapped: at the width of a terminal, and nowhere in a file or a pipe. */
  wrapColumns(): number;
  readonly style: Style;
  /** Aborts when the reader of our stdout is gone; commands that follow something should end then. */
  readonly closed: AbortSignal;
  /** Lines for people: stdout, or stderr if stdout has data. */
  line(text: Line | Lines): void;
  /** A remark that is never part of the result: always stderr. */
  note(text: Line | Lines): void;
  /** The result, once: lines for people, one JSON value, or (ndjson) one line per item of a list. */
  result(value: unknown, human: () => Lines): void;
  /** Something that happened: one JSON line with `ndjson`, nothing otherwise. */
  event(value: unknown): void;
  /** The last line of a terminal, which changes; null removes it, and so does all other output. */
  status(text: Line | null): void;
  /**
   * The last line of a terminal while a person types behind it. No status is drawn over it, and all other output waits
   * until the person ends it (`answered`), or we erase it (`dropped`).
   */
  prompt(text: Line): void;
  endPrompt(how: 'answered' | 'dropped'): void;
  /** Takes the whole terminal until it is closed; nothing else may print meanwhile. `onResize` draws it again. */
  openScreen(onResize: () => void): FullScreen;
  /** Foreign bytes: unchanged in a pipe, escaped on a terminal unless `isRaw`, there as `format` shows them. */
  copy(bytes: Uint8Array, options?: CopyOptions): void;
  /** Foreign bytes as they come, to the same stream of ours; resolves when they are taken, or nobody reads. */
  pass(name: 'stdout' | 'stderr', parts: readonly Uint8Array[]): Promise<void>;
}

export interface CopyOptions {
  readonly isRaw?: boolean;
  readonly format?: () => Lines;
}

export type { OutputStreams };

/** Makes an output for the streams. Colour only for a terminal, and not with NO_COLOR, CI or TERM=dumb. */
export function createOutput(
  format: OutputFormat,
  streams: OutputStreams,
  env: Readonly<Record<string, string | undefined>>,
): Output {
  const closed = new AbortController();
  const { stdout, stderr } = streams;
  const passer = createPasser(streams, (name, error) => streams[name].emit('error', error));
  const put = (stream: NodeJS.WriteStream, text: string | Uint8Array): void => {
    if (stream !== stdout || !closed.signal.aborted) stream.write(text);
  };
  const lastLine = createLastLine({
    put: (text) => put(stdout, text),
    render: (line) => render(line, usesColor(stdout, env)),
    isTaken: () => passer.isInLine(),
  });
  const write = (stream: NodeJS.WriteStream, text: string | Uint8Array): void =>
    lastLine.above(() => {
      if (passer.leaveLine()) put(stdout, '\n');
      put(stream, text);
    });
  const print = (stream: NodeJS.WriteStream, text: Line | Lines): void =>
    write(stream, toText(text, usesColor(stream, env)));
  guardStreams(streams, closed, put);
  const isData = format !== 'human';
  const decoder = new TextDecoder();
  const isInteractive = stdout.isTTY && stderr.isTTY && !isSet(env['CI']);
  const columns = (): number => stdout.columns || 80;
  return {
    format,
    isInteractive,
    columns,
    wrapColumns: () => (isInteractive ? columns() : Infinity),
    style: STYLE,
    closed: closed.signal,
    line: (text) => print(isData ? stderr : stdout, text),
    note: (text) => print(stderr, text),
    result: (value, human) => (isData ? write(stdout, toJson(format, value)) : print(stdout, human())),
    event: (value) => {
      if (format === 'ndjson') write(stdout, toJson(format, [value]));
    },
    status: lastLine.status,
    prompt: lastLine.prompt,
    endPrompt: lastLine.endPrompt,
    openScreen: (onResize) => openFullScreen(terminalOf(stdout, put, env), onResize),
    async pass(name, parts) {
      lastLine.status(null);
      await passer.pass(name, parts);
    },
    copy(bytes, { isRaw = false, format: show } = {}) {
      if (!stdout.isTTY || isRaw) write(stdout, bytes);
      else if (show !== undefined) print(stdout, show());
      else write(stdout, printableLines(decoder.decode(bytes, { stream: true })).join('\n'));
    },
  };
}

function terminalOf(
  stdout: NodeJS.WriteStream,
  put: (stream: NodeJS.WriteStream, text: string) => void,
  env: Readonly<Record<string, string | undefined>>,
): Parameters<typeof openFullScreen>[0] {
  return {
    put: (text) => put(stdout, text),
    render: (line) => render(line, usesColor(stdout, env)),
    size: () => ({ rows: stdout.rows || 24, columns: stdout.columns || 80 }),
    onResize(listener) {
      stdout.on('resize', listener);
      return () => stdout.off('resize', listener);
    },
  };
}

function guardStreams(
  { stdout, stderr }: OutputStreams,
  closed: AbortController,
  put: (stream: NodeJS.WriteStream, text: string) => void,
): void {
  guard(stdout, (error) => {
    closed.abort();
    if (isReaderGone(error)) return;
    // A result that was not written must not look like one.
    process.exitCode = 1;
    const said = `error: the output could not be written: ${error.message}. Free some space there.`;
    put(stderr, `${render(said, false)}\n`);
  });
  guard(stderr, (error) => {
    if (!isReaderGone(error)) process.exitCode = 1;
  });
}

function guard(stream: NodeJS.WriteStream, onError: (error: NodeJS.ErrnoException) => void): void {
  stream.on('error', onError);
}

function toText(text: Line | Lines, hasStyles: boolean): string {
  const lines: Lines = typeof text === 'string' || text instanceof Painted ? [text] : text;
  return lines.map((line) => `${render(line, hasStyles)}\n`).join('');
}

function toJson(format: OutputFormat, value: unknown): string {
  if (format === 'json') return `${printableJson(JSON.stringify(value, null, 2))}\n`;
  return (Array.isArray(value) ? value : [value])
    .map((item) => `${printableJson(JSON.stringify(item))}\n`)
    .join('');
}

function usesColor(stream: NodeJS.WriteStream, env: Readonly<Record<string, string | undefined>>): boolean {
  return stream.isTTY && !isSet(env['NO_COLOR']) && !isSet(env['CI']) && env['TERM'] !== 'dumb';
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false';
}
