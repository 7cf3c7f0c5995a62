import { parseDuration } from '@caisson/protocol';
import { UsageError } from './usage-error.ts';

/** A duration on the command line has its unit, as a size has: people mean different ones with a bare number. */
export function readDuration(option: string, text: string, limits?: { minMs: number }): number {
  const bare = text.trim();
  if (/^\d+(\.\d+)?$/.test(bare))
    throw new UsageError(`${option} needs a unit: "${bare}" may be seconds or minutes`, {
      remedy: `Write ${option} ${bare}s or ${option} ${bare}m.`,
    });
  return parseDuration(text, limits);
}
