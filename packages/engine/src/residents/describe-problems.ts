import type { GuestFailure, ResidentEnding, ResidentLine } from '@caisson/protocol';
import type { ResidentPlan } from './contract.ts';

/** By the name of a sense or workflow. */
export type Problems = ReadonlyMap<string, string>;

const MAX_DETAIL = 8192;

export function describeProblems(problems: Problems): GuestFailure {
  const detail = [...problems].map(([name, problem]) => `${name}: ${problem}`).join('\n');
  return { kind: 'invalid', detail: detail.slice(0, MAX_DETAIL) };
}

export function describeEnding({ why, detail }: Pick<ResidentEnding, 'why' | 'detail'>): string {
  return `${why}: ${detail}`.slice(0, MAX_DETAIL);
}

export function describeFailedStart(error: unknown): ResidentEnding {
  const detail = error instanceof Error ? error.message : String(error);
  return { why: 'not-started', detail: detail.slice(0, MAX_DETAIL), stderrTail: '' };
}

/** What a worker said of its files. One that it did not name has a problem, too. */
export function findProblems(
  plan: ResidentPlan,
  modules: Extract<ResidentLine, { kind: 'ready' }>['modules'],
): Problems {
  const said = new Map(modules.map(({ name, problem }) => [name, problem]));
  return new Map(
    plan.modules.flatMap(({ name }) => {
      const problem = said.has(name) ? said.get(name) : 'the worker did not load it';
      return problem === undefined ? [] : [[name, problem]];
    }),
  );
}
