/** A request comes from programs, from disk and from other processes: it is checked before anything uses it. */
import { findNearest, findRequestProblem, REQUEST_FIELDS, type DispatchRequest } from '@caisson/protocol';
import { TaskRefusedError } from './errors.ts';
import type { RequestRefusal } from './request-checks.ts';

/** Throws TaskRefusedError for what is not a request. */
export function parseRequest(value: unknown): DispatchRequest {
  const refusal = findBadShape(value);
  if (refusal !== null) throw new TaskRefusedError({ check: 'request-shape', ...refusal });
  return value as DispatchRequest;
}

/** The first member of the wrong type, or an unknown one. */
export function findBadShape(value: unknown): RequestRefusal | null {
  const problem = findRequestProblem(value);
  switch (problem?.kind) {
    case undefined:
      return null;
    case 'no-request':
      return { kind: 'usage', detail: 'a request is an object' };
    case 'wrong':
      return { kind: 'usage', detail: `"${problem.member}" must be ${problem.says}` };
    case 'unknown':
      return unknownMember(problem.member);
  }
}

function unknownMember(key: string): RequestRefusal {
  const nearest = findNearest(key, Object.keys(REQUEST_FIELDS));
  return {
    kind: 'usage',
    detail: `a request has no "${key.slice(0, 100)}"`,
    ...(nearest === null ? {} : { remedy: `Did you mean "${nearest}"?` }),
  };
}
