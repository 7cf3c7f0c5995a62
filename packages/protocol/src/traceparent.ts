/** Where a run stands in a trace, as the W3C writes it: `00-<trace>-<span>-<flags>`. */
import * as z from 'zod/mini';

const FORM = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const SAMPLED = 1;

export const Traceparent = z.string().check(z.regex(FORM, 'must be a W3C traceparent'));

export interface SpanPlace {
  readonly traceId: string;
  readonly spanId: string;
  /** Two hexadecimal digits. */
  readonly flags: string;
  readonly isSampled: boolean;
}

/** Null for anything else: a trace that cannot be read is not continued. */
export function parseTraceparent(text: string | undefined): SpanPlace | null {
  const [, traceId, spanId, flags] = FORM.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, flags, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

export function formatTraceparent({ traceId, spanId, flags }: Omit<SpanPlace, 'isSampled'>): string {
  return `00-${traceId}-${spanId}-${flags}`;
}
