import * as z from 'zod/mini';
import { definedOnly } from './defined-only.ts';

/** The only form in which an error crosses a process, a disk or a network. */
export const ErrorInfo = z.object({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean(),
  remedy: z.optional(z.string()),
});
export type ErrorInfo = z.infer<typeof ErrorInfo>;

const MARK = Symbol.for('caisson.error');

/**
 * Base of every error that Caisson throws on purpose.
 * `code` is public API. `message` says what failed, with which value, and what to do next.
 */
export abstract class CaissonError extends Error {
  /** A process can have two bundles with a copy of this class each: an error of either is one of ours. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this === CaissonError) return value instanceof Error && MARK in value;
    return Function.prototype[Symbol.hasInstance].call(this, value);
  }

  get [MARK](): true {
    return true;
  }

  abstract readonly code: string;
  readonly retryable: boolean = false;
  /** What a person can do about it, in one sentence. */
  readonly remedy: string | undefined;

  constructor(message: string, options: { cause?: unknown; remedy?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.remedy = options.remedy;
  }

  toInfo(): ErrorInfo {
    return {
      code: this.code,
      message: this.message,
      retryable: this.retryable,
      ...definedOnly({ remedy: this.remedy }),
    };
  }
}

/** Turns anything that was thrown into the form that may cross a process. */
export function toErrorInfo(error: unknown): ErrorInfo {
  if (error instanceof CaissonError) return error.toInfo();
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'INTERNAL', message, retryable: false };
}
