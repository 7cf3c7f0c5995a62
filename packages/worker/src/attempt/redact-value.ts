/**
 * Removes secrets from structured values (invariant 7). A secret may be a common word, `finished` or `timeout`, so the
 * words of our own protocol are not touched: they reveal no secret, and without them the line would be unreadable.
 */
import type { Redactor } from '@caisson/ground';

/** Fields whose text is from our closed list, or a description of the sandbox. */
const OWN_WORDS = new Set([
  'actionClass',
  'cause',
  'enforced',
  'kind',
  'layer',
  'lastStop',
  'lens',
  'outcome',
  'phase',
  'purpose',
  'reason',
  'ref',
  'request',
  'signal',
  'status',
  'verdict',
  'via',
  'waiting',
]);

/** One of our records with every secret removed from its texts. Field names stay. */
export function redactRecord<T>(redactor: Redactor, record: T): T {
  return redactOwn(redactor, record) as T;
}

/** A value that the agent made: names of fields are redacted, too. */
export function redactForeign(redactor: Redactor, value: unknown): unknown {
  return mapTexts(
    value,
    (text) => redactor.redact(text),
    (name, item) => [redactor.redact(name), redactForeign(redactor, item)],
  );
}

function redactOwn(redactor: Redactor, value: unknown): unknown {
  return mapTexts(
    value,
    (text) => redactor.redact(text),
    (name, item) => [name, OWN_WORDS.has(name) ? item : redactOwn(redactor, item)],
  );
}

function mapTexts(
  value: unknown,
  ofText: (text: string) => string,
  ofField: (name: string, item: unknown) => [string, unknown],
): unknown {
  if (typeof value === 'string') return ofText(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, ofText, ofField));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => ofField(name, item)));
}
