/** A request comes from programs, from disk and from other processes: it is checked before anything uses it. */
import {
  definedOnly,
  findNearest,
  findRequestProblem,
  parsePipelineSpec,
  PipelineSpecError,
  type DispatchRequest,
  type RequestProblem,
} from '@caisson/protocol';
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
      if (problem.member === 'pipeline')
        return describeBadPipeline((value as DispatchRequest).pipeline, problem.says);
      return { kind: 'usage', detail: `"${problem.member}" must be ${problem.says}` };
    case 'unknown':
      return unknownMember(problem);
  }
}

/** A pipeline that is written out says which of its blocks is wrong. */
function describeBadPipeline(pipeline: unknown, says: string): RequestRefusal {
  const detail = `"pipeline" must be ${says}`;
  if (typeof pipeline !== 'object') return { kind: 'usage', detail };
  try {
    parsePipelineSpec(pipeline);
  } catch (error) {
    if (!(error instanceof PipelineSpecError)) throw error;
    return { kind: 'usage', detail: error.message, ...definedOnly({ remedy: error.remedy }) };
  }
  return { kind: 'usage', detail };
}

function unknownMember({ member, of, known }: Extract<RequestProblem, { kind: 'unknown' }>): RequestRefusal {
  const nearest = findNearest(member, known);
  return {
    kind: 'usage',
    detail: `${of === undefined ? 'a request' : `"${of}"`} has no "${member.slice(0, 100)}"`,
    ...(nearest === null ? {} : { remedy: `Did you mean "${nearest}"?` }),
  };
}
