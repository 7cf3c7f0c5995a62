import { isRecord } from './is-record.ts';
import type { StepRequest } from './resident-steps.ts';

/** The text whose sha256 is the digest of a step, the same on both sides: JSON with sorted keys. */
export function describeStep(request: StepRequest): string {
  return JSON.stringify(request, (_key, value: unknown) =>
    isRecord(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
