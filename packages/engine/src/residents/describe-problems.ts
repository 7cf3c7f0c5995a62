import type { GuestFailure, ResidentEnding } from '@caisson/protocol';

/** By the name of a sense or workflow. */
export type Problems = ReadonlyMap<string, string>;

const MAX_DETAIL = 8192;

export function describeProblems(problems: Problems): GuestFailure {
  const detail = [...problems].map(([name, problem]) => `${name}: ${problem}`).join('\n');
  return { kind: 'invalid', detail: detail.slice(0, MAX_DETAIL) };
}

/** Why the worker that tried to load them ended. */
export function describeRefusal(problems: Problems): string {
  return `it does not load: ${describeProblems(problems).detail}`.slice(0, MAX_DETAIL);
}

export type EndReason = Pick<ResidentEnding, 'why' | 'detail'>;

export function describeEnding({ why, detail }: EndReason): string {
  return `${why}: ${detail}`.slice(0, MAX_DETAIL);
}

/** The reason of its host, which killed it or asked it to stop, before its own words. */
export function explainEnding(
  ending: ResidentEnding,
  killed: EndReason | null,
  stopDetail: string | undefined,
): ResidentEnding {
  if (killed !== null) return { ...ending, ...killed };
  return ending.why === 'stopped' ? { ...ending, detail: stopDetail ?? ending.detail } : ending;
}

export function describeFailedStart(error: unknown): ResidentEnding {
  const detail = error instanceof Error ? error.message : String(error);
  return { why: 'not-started', detail: detail.slice(0, MAX_DETAIL), stderrTail: '' };
}
