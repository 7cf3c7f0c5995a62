/** How values read on a terminal. */
import type { Failure, Usage } from '@caisson/protocol';
import { isPlainAscii, printable } from './printable.ts';

/** Unknown is `-`. */
export function formatDuration(ms: number | undefined): string {
  if (ms === undefined) return '-';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** How long ago, in one unit. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** A program that was stopped has no exit code. */
export function formatExit(exitCode: number | null): string {
  return exitCode === null ? 'stopped' : `exit ${exitCode}`;
}

/** How long the work took, and how long the user waited, where that is much more. */
export function formatTook(workMs: number | undefined, elapsedMs = 0): string {
  if (workMs === undefined) return formatDuration(workMs);
  const isMore = elapsedMs > workMs + 500 && elapsedMs > 1.2 * workMs;
  return `${formatDuration(workMs)}${isMore ? ` (${formatDuration(elapsedMs)} in all)` : ''}`;
}

/** A failure in a word or two. What the records call `provider-failed` may be the user's own command. */
export function nameFailure({ reason, cause }: Pick<Failure, 'reason' | 'cause'>): string {
  const word = reason === 'provider-failed' ? 'failed' : reason;
  return `${word}${cause === undefined ? '' : ` (${cause})`}`;
}

const SHORT_ID_CHARACTERS = 8;

/** The end of an id, which every command understands as long as it is the only one; otherwise all of it. */
export function shortId(runId: string, among: readonly { readonly runId: string }[]): string {
  const end = runId.slice(-SHORT_ID_CHARACTERS);
  return among.filter((other) => other.runId.endsWith(end)).length > 1 ? runId : end;
}

/** Unknown is shown as unknown, never as nothing; an estimate in part is shown as approximate. */
export function formatCost(usd: number | null | undefined, isEstimate = false): string {
  if (usd === null || usd === undefined) return 'cost unknown';
  if (usd > 0 && usd < 0.0001) return 'under $0.0001';
  return `${isEstimate ? '~' : ''}$${usd < 0.01 && usd > 0 ? usd.toFixed(4) : usd.toFixed(2)}`;
}

/** The estimated part of a usage, as words that follow it; empty if the model reported all. */
export function formatEstimate(estimated: Usage['estimated']): string {
  if (estimated === undefined) return '';
  const { answers, inputTokens, outputTokens } = estimated;
  const what = answers === 1 ? '1 answer' : `${answers} answers`;
  return `, of which ${inputTokens} in and ${outputTokens} out are estimated (${what} did not report its usage)`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

/** Columns of a text on a terminal: wide characters need two, combining marks none. In doubt it is the larger number. */
export function widthOf(text: string): number {
  if (isPlainAscii(text)) return text.length;
  let width = 0;
  for (const character of text) width += widthOfCharacter(character);
  return width;
}

/** The text on one printable line, or as much of it as fits with an ellipsis. */
export function cutToWidth(given: string, columns: number): string {
  const text = printable(given);
  if (widthOf(text) <= columns) return text;
  let cut = '';
  let room = columns - 1;
  for (const character of text) {
    room -= widthOfCharacter(character);
    if (room < 0) break;
    cut += character;
  }
  return columns < 1 ? '' : `${cut}…`;
}

function widthOfCharacter(character: string): number {
  if (/(?!\ufe0f)[\p{Nonspacing_Mark}\p{Enclosing_Mark}\p{Format}]/u.test(character)) return 0;
  return /[\u1100-\u115f\u2329\u232a\u2e80-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{16fe0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u.test(
    character,
  )
    ? 2
    : 1;
}
