/** What a role asks for now, compared with what is recorded of the same step. */
import { createHash } from 'node:crypto';
import type { DataOf, StepRequest } from '@caisson/protocol';

type Recorded = Pick<DataOf<'thread.step-started'>, 'ordinal' | 'kind' | 'fields'>;
type Fields = Readonly<Record<string, string>>;

const MAX_FIELDS = 16;
const MAX_KEY_CHARACTERS = 64;
const MAX_VALUE_CHARACTERS = 80;
const MAX_NAMED = 3;
const REMEDY =
  'A role is called again with the steps that it had, and must ask for the same ones. Put values that change (times, random ' +
  'numbers, what files say) into step(name, work); after a change of the code: caisson threads resume';

/** Short values of a request, by key: enough to say later which of them differs. */
export function describeFields(request: StepRequest): Fields {
  const { kind, ...rest } = request;
  const given = kind === 'dispatch' && 'request' in rest ? { ...rest.request, waits: rest.waits } : rest;
  return Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => value !== undefined)
      .slice(0, MAX_FIELDS)
      .map(([key, value]) => [key.slice(0, MAX_KEY_CHARACTERS), describeValue(value)]),
  );
}

/** For a thread that ends because its role asks for something else than before. */
export function describeChange({ ordinal, kind, fields }: Recorded, request: StepRequest): string {
  const now = describeFields(request);
  const what =
    kind === request.kind
      ? (fields !== undefined && describeDifference(fields, now)) || 'it asks for something else than before'
      : `it was a ${nameKind(kind)} before and is a ${nameKind(request.kind)} now`;
  return `step ${ordinal} (${nameKind(kind)}) is not the same as before: ${what}. ${REMEDY}`;
}

/** As the role writes it. */
const nameKind = (kind: StepRequest['kind']): string => (kind === 'value' ? 'step' : kind);

function describeDifference(before: Fields, now: Fields): string {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  const changed = keys.filter((key) => before[key] !== now[key]);
  const named = changed
    .slice(0, MAX_NAMED)
    .map((key) => `${key} was ${before[key] ?? 'absent'} and is ${now[key] ?? 'absent'} now`);
  const more = changed.length - named.length;
  return [...named, ...(more > 0 ? [`${more} more differ`] : [])].join('; ');
}

/** A long one by its beginning and its digest: two that differ only later are not the same. */
function describeValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  if (text.length <= MAX_VALUE_CHARACTERS) return text;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 8);
  return `${text.slice(0, MAX_VALUE_CHARACTERS)}… (sha256 ${digest})`;
}
