import type { Problem } from '@caisson/protocol';

/** What the host refused or could not do, in its own words. */
export class ProblemError extends Error {
  readonly code: string;
  readonly remedy: string | undefined;
  readonly status: number;

  constructor({ code, message, remedy, status }: Pick<Problem, 'code' | 'message' | 'remedy' | 'status'>) {
    super(message);
    this.name = 'ProblemError';
    this.code = code;
    this.remedy = remedy;
    this.status = status;
  }
}

/** Turns an answer that is not a success into an error. What is no problem+json is described by its status. */
export function toProblemError(status: number, text: string): ProblemError {
  const told = parseJson(text);
  if (told === null || typeof told.message !== 'string')
    return new ProblemError({ code: `HTTP_${status}`, message: `the host answered ${status}`, status });
  return new ProblemError({
    code: typeof told.code === 'string' ? told.code : `HTTP_${status}`,
    message: told.message,
    ...(typeof told.remedy === 'string' ? { remedy: told.remedy } : {}),
    status,
  });
}

/** Whatever was thrown, as a problem that can be shown. */
export function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ProblemError({
    code: 'UNREACHABLE',
    message: `The host did not answer (${message}).`,
    remedy:
      'caisson status says whether the daemon runs, and caisson up starts it. Then this page goes on by itself.',
    status: 0,
  });
}

function parseJson(text: string): Partial<Problem> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null;
  }
}
