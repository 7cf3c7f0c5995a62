export { backoffMs, type BackoffOptions } from './backoff.ts';
export { CaissonError, ErrorInfo, toErrorInfo } from './errors.ts';
export { TaskRefusedError, type Refusal } from './refusal.ts';
export { createPrefixedId, createRunId } from './ids.ts';
export { pause } from './pause.ts';
export {
  createLineSink,
  createLogger,
  LOG_LEVELS,
  silentLogger,
  type LogFields,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  type LogRecord,
  type LogSink,
} from './logger.ts';
