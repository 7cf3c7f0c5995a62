import type { Redactor } from '@caisson/ground';

/** The same value with every secret taken out of every text in it, names of fields included. */
export function redactValue<T>(redactor: Redactor, value: T): T {
  return redactAny(redactor, value) as T;
}

function redactAny(redactor: Redactor, value: unknown): unknown {
  if (typeof value === 'string') return redactor.redact(value);
  if (Array.isArray(value)) return value.map((item) => redactAny(redactor, item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [redactor.redact(name), redactAny(redactor, item)]),
  );
}
