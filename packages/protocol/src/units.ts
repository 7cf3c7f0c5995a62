import { CaissonError } from './errors.ts';

/** A duration or a size could not be read. */
export class UnitError extends CaissonError {
  readonly code = 'UNIT_INVALID';
}

const MS_PER: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const BYTES_PER: Readonly<Record<string, number>> = {
  b: 1,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
  t: 1024 ** 4,
};

/**
 * Milliseconds of `500ms`, `45s`, `30m`, `1h30m` or `2d`. A bare number counts seconds, as in timeout(1).
 * Negative and endless values throw {@link UnitError}, and so does zero, unless `minMs` allows it.
 */
export function parseDuration(input: string | number, { minMs = 1 } = {}): number {
  const text = String(input).trim().toLowerCase();
  const totalMs = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : sumDurationParts(text);
  if (totalMs === null || !Number.isSafeInteger(Math.round(totalMs)) || Math.round(totalMs) < minMs) {
    throw new UnitError(
      `"${input}" is not a duration. Write a number with ms, s, m, h or d, for example 90s or 1h30m.`,
    );
  }
  return Math.round(totalMs);
}

/**
 * Bytes of `512m`, `4g`, `1.5GiB` or `100b`; multiples are of 1024. Otherwise {@link UnitError}, and for a bare number too:
 * people mean different units with it.
 */
export function parseSize(input: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(?:([kmgt])(?:i?b)?|b)$/.exec(input.trim().toLowerCase());
  const bytes =
    match === null ? Number.NaN : Math.round(Number(match[1]) * (BYTES_PER[match[2] ?? 'b'] ?? Number.NaN));
  if (!Number.isSafeInteger(bytes) || bytes < 1) {
    throw new UnitError(
      `"${input}" is not a size. Write a number with its unit (b, k, m, g or t), for example 512m or 4g.`,
    );
  }
  return bytes;
}

const LEAST_MEMORY = 1024 ** 2;

/** The same for memory, where less was meant in another unit. */
export function parseMemory(input: string): number {
  const bytes = parseSize(input);
  if (bytes >= LEAST_MEMORY) return bytes;
  throw new UnitError(`"${input}" is less than a megabyte of memory. Write more, for example 512m or 4g.`);
}

/** The shortest exact way to write it: `1h30m`, `45s`, `250ms`. */
export function formatDuration(totalMs: number): string {
  let rest = Math.round(totalMs);
  let text = '';
  for (const unit of ['d', 'h', 'm', 's', 'ms']) {
    const count = Math.floor(rest / (MS_PER[unit] ?? 1));
    if (count > 0) text += `${count}${unit}`;
    rest -= count * (MS_PER[unit] ?? 1);
  }
  return text === '' ? '0s' : text;
}

/** Exact where the value is a whole multiple (`4g`), else with one decimal (`1.5g`). */
export function formatSize(bytes: number): string {
  const unit = ['t', 'g', 'm', 'k'].find((name) => bytes >= (BYTES_PER[name] ?? 1));
  if (unit === undefined) return `${bytes}b`;
  const count = bytes / (BYTES_PER[unit] ?? 1);
  return `${Number.isInteger(count) ? count : count.toFixed(1)}${unit}`;
}

function sumDurationParts(text: string): number | null {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return null;
  let totalMs = 0;
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    totalMs += Number(count) * (MS_PER[unit ?? ''] ?? Number.NaN);
  }
  return totalMs;
}

/** A setting's value as a person writes it: `5m` and `4g` where the key is a time or a size. */
export function formatSetting(key: string, value: unknown): string {
  if (value === null) return '-';
  if (
    typeof value === 'number' &&
    /(timeout|grace|deadline|unreachable|within|age|interval|throttle)$/i.test(key)
  )
    return formatDuration(value);
  if (typeof value === 'number' && /\.(memory|disk|spool|trash|home|tmp|capture|captureFile)$/.test(key))
    return formatSize(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
