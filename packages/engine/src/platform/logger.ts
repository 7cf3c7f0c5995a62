/**
 * Structured log records, passed to an injected sink. A logger prints nothing itself and can never disturb the work
 * that it logs.
 */
import type { Clock } from '@caisson/ground';
import { encodeNdjson, toErrorInfo } from '@caisson/protocol';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogRecord {
  readonly at: string;
  readonly level: LogLevel;
  readonly message: string;
  /** What the message is about: ids, counts, names. Errors are in their serialised form. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export type LogSink = (record: LogRecord) => void;
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds these fields to every record. */
  with(fields: LogFields): Logger;
}

export interface LoggerOptions {
  readonly sink: LogSink;
  readonly clock: Pick<Clock, 'now'>;
  /** Records below it are not made. Default `info`. */
  readonly level?: LogLevel;
  readonly fields?: LogFields;
}

export function createLogger(options: LoggerOptions): Logger {
  const least = LOG_LEVELS.indexOf(options.level ?? 'info');
  const log = (level: LogLevel, message: string, fields: LogFields = {}): void => {
    if (LOG_LEVELS.indexOf(level) < least) return;
    try {
      const merged = withTravellingErrors({ ...options.fields, ...fields });
      options.sink({ at: options.clock.now().toISOString(), level, message, fields: merged });
    } catch {
      // A full disk or a broken sink loses the record, never the run.
    }
  };
  return {
    debug: (message, fields) => log('debug', message, fields),
    info: (message, fields) => log('info', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    error: (message, fields) => log('error', message, fields),
    with: (fields) => createLogger({ ...options, fields: { ...options.fields, ...fields } }),
  };
}

/** A sink that writes one JSON line a record. `redact` gets the whole line, so it covers every field. */
export function createLineSink(write: (line: string) => void, redact?: (line: string) => string): LogSink {
  return ({ fields, ...record }) => {
    const line = encodeNdjson({ ...record, ...(Object.keys(fields).length > 0 ? { fields } : {}) });
    write(redact === undefined ? line : redact(line));
  };
}

/** Keeps nothing. */
export const silentLogger: Logger = createLogger({ sink: () => {}, clock: { now: () => new Date(0) } });

function withTravellingErrors(fields: LogFields): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, value instanceof Error ? toErrorInfo(value) : value]),
  );
}
