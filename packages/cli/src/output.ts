/** How results are printed. */
export type OutputFormat = 'human' | 'json' | 'ndjson';

type Paint = (text: string) => string;

/** The only way in which commands print. With `json` and `ndjson`, stdout carries data and nothing else. */
export interface Output {
  readonly format: OutputFormat;
  readonly isInteractive: boolean;
  /** How wide the terminal is now. */
  columns(): number;
  readonly style: {
    readonly bold: Paint;
    readonly dim: Paint;
    readonly red: Paint;
    readonly green: Paint;
    readonly yellow: Paint;
  };
  /** Aborts when whoever read our stdout has gone away; commands that follow something should end then. */
  readonly closed: AbortSignal;
  /** A line for people: stdout, or stderr where stdout carries data. */
  line(text: string): void;
  /** A remark that is never part of the result: always stderr. */
  note(text: string): void;
  /** The result, once: `human` text, one JSON value, or (ndjson) one line per item of a list. */
  result(value: unknown, human: () => string): void;
  /** Something that happened: one JSON line with `ndjson`, nothing otherwise. */
  event(value: unknown): void;
  /** Bytes as they are, for `diff`, `logs` and `completion`. */
  raw(text: string | Uint8Array): void;
}

export interface OutputStreams {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** Makes an output for the streams. Colour only for a terminal, and not with NO_COLOR, CI or TERM=dumb. */
export function createOutput(
  format: OutputFormat,
  streams: OutputStreams,
  env: Readonly<Record<string, string | undefined>>,
): Output {
  const closed = new AbortController();
  const write = (stream: NodeJS.WriteStream, text: string | Uint8Array): void => {
    if (stream !== streams.stdout || !closed.signal.aborted) stream.write(text);
  };
  guard(streams.stdout, (error) => {
    closed.abort();
    if (isReaderGone(error)) return;
    // A result that is not where it was sent must not look like one.
    process.exitCode = 1;
    write(
      streams.stderr,
      `error: the output could not be written: ${error.message}. Free some space there.\n`,
    );
  });
  guard(streams.stderr, () => undefined);
  const isData = format !== 'human';
  return {
    format,
    isInteractive: streams.stdout.isTTY && streams.stderr.isTTY && !isSet(env['CI']),
    columns: () => streams.stdout.columns || 80,
    style: createStyle(usesColor(isData ? streams.stderr : streams.stdout, env)),
    closed: closed.signal,
    line: (text) => write(isData ? streams.stderr : streams.stdout, `${text}\n`),
    note: (text) => write(streams.stderr, `${text}\n`),
    result: (value, human) => write(streams.stdout, formatResult(format, value, human)),
    event: (value) => {
      if (format === 'ndjson') write(streams.stdout, `${JSON.stringify(value)}\n`);
    },
    raw: (text) => write(streams.stdout, text),
  };
}

function guard(stream: NodeJS.WriteStream, onError: (error: NodeJS.ErrnoException) => void): void {
  stream.on('error', onError);
}

/** `caisson runs | head -1` closes our stdout early: no error, just nobody left to print for. */
function isReaderGone({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || code === 'EIO';
}

function formatResult(format: OutputFormat, value: unknown, human: () => string): string {
  if (format === 'json') return `${JSON.stringify(value, null, 2)}\n`;
  if (format === 'ndjson')
    return (Array.isArray(value) ? value : [value]).map((item) => `${JSON.stringify(item)}\n`).join('');
  const text = human();
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

function usesColor(stream: NodeJS.WriteStream, env: Readonly<Record<string, string | undefined>>): boolean {
  return stream.isTTY && !isSet(env['NO_COLOR']) && !isSet(env['CI']) && env['TERM'] !== 'dumb';
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false';
}

function createStyle(hasColor: boolean): Output['style'] {
  const paint = (open: number, close: number): Paint =>
    hasColor ? (text) => `\u001b[${open}m${text}\u001b[${close}m` : (text) => text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
  };
}
