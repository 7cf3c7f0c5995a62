/** Numbers and times in words. What is unknown says so. */
import type { Failure } from '@caisson/protocol';

const NEAR_MS = 5000;

export function formatUsd(value: number | null | undefined, isEstimate = false): string {
  if (value === null || value === undefined) return 'unknown';
  const digits = value !== 0 && Math.abs(value) < 0.01 ? 4 : 2;
  return `${isEstimate ? '≈ ' : ''}$${value.toFixed(digits)}`;
}

/** What a run has cost, or so far; `none` is said of a plain command. The one place that words it. */
export function formatRunCost(run: PricedRun, none = 'none'): string {
  if (!usesModel(run)) return none;
  return formatUsd(run.costUsd ?? run.live?.costUsd, run.costIsEstimate);
}

/** A plain command asks no model: its cost is not unknown, there is none. */
export function usesModel({ runtime, costUsd }: Pick<PricedRun, 'runtime' | 'costUsd'>): boolean {
  return runtime !== 'command' || typeof costUsd === 'number';
}

interface PricedRun {
  readonly runtime?: string | undefined;
  readonly costUsd?: number | null | undefined;
  readonly costIsEstimate?: true | undefined;
  readonly live?: { readonly costUsd?: number | undefined } | undefined;
}

export function formatCount(value: number): string {
  if (value < 10_000) return value.toLocaleString('en-US');
  if (value < 1_000_000) return `${(value / 1000).toFixed(value < 100_000 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

/** In the units of caisson.yaml and of the command line: `memory: 4g` is 4 GiB. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${units[unit] ?? ''}`;
}

export function formatMs(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return joinUnits(minutes, 'min', Math.round(seconds % 60), 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return joinUnits(hours, 'h', minutes % 60, 'min');
  return joinUnits(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function joinUnits(big: number, bigUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${big} ${bigUnit}` : `${big} ${bigUnit} ${small} ${smallUnit}`;
}

/** The clock of a page is not the host's, and is read now and then: what is near is now. */
export function formatAgo(at: string, nowMs: number): string {
  const ms = nowMs - Date.parse(at);
  if (Math.abs(ms) < NEAR_MS) return 'now';
  return ms < 0 ? `in ${shortMs(-ms)}` : `${shortMs(ms)} ago`;
}

function shortMs(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export function formatTime(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** A failure in a few words. What the records call `provider-failed` may be the user's own command. */
export function nameFailure({ reason, cause, detail }: Failure): string {
  const code = /^the command exited with code (\d+)/.exec(detail)?.[1];
  if (cause === 'exit-code') return code === undefined ? 'failed' : `exit code ${code}`;
  const word = reason === 'provider-failed' ? 'failed' : reason.replaceAll('-', ' ');
  return cause === undefined ? word : `${word} · ${cause.replaceAll('-', ' ')}`;
}

/** Enough of an id to recognise it, and to name the run in a command. */
export function shortId(id: string): string {
  return id.length > 14 ? `…${id.slice(-8)}` : id;
}

/** A text of any length on one line. */
export function firstLine(text: string, maxChars = 200): string {
  const line = text.trimStart().split('\n', 1)[0] ?? '';
  return line.length > maxChars ? `${line.slice(0, maxChars)}…` : line;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}
