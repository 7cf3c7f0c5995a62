import { isRecord } from './is-record.ts';
import type { StepRequest } from './resident-lines.ts';

/**
 * The text whose sha256 is the digest of a step, the same on both sides: JSON with sorted keys. The value of the user's own
 * code is not in it, because a role that is repeated asks before it runs that code.
 */
export function describeStep(request: StepRequest): string {
  const what = request.kind === 'value' ? { kind: request.kind, name: request.name } : request;
  return JSON.stringify(what, (_key, value: unknown) =>
    isRecord(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
