import { isRecord, parseTraceparent } from '@caisson/protocol';
import type { DispatchRequest } from './contract.ts';
import type { DispatchSettings } from './rooms.ts';

/** The span that asks for the run: the request's own, or the one that the caller's environment names. */
export function findCallerTrace(
  request: DispatchRequest,
  { traceparent }: Pick<DispatchSettings, 'traceparent'>,
): string | undefined {
  const asked: unknown = isRecord(request) ? request.trace : undefined; // its shape is not checked yet
  const traces = [asked, traceparent].filter((trace) => typeof trace === 'string');
  return traces.find((trace) => parseTraceparent(trace) !== null);
}
