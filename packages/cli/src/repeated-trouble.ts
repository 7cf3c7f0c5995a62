/** A model that is down is reported again and again, by the broker and by its agent: each is shown once, then counted. */
import type { EventEnvelope } from '@caisson/protocol';

const TRIES = /\d+\/\d+/g;
const TIMES = /\d+(?:\.\d+)? ?(?:ms|s|m|h|milliseconds?|secs?|seconds?|mins?|minutes?|hours?)\b/gi;

export interface RepeatedTrouble {
  /**
   * Whether it was shown before, and so is only counted; `before` is the count of what was left out, once the model
   * answers again.
   */
  take(event: EventEnvelope): { readonly isRepeat: boolean; readonly before: string | null };
  /** The count of what was left out until now, and from here on it begins again. */
  end(): string | null;
}

export function createRepeatedTrouble(): RepeatedTrouble {
  const seen = new Set<string>();
  let left = 0;
  const end = (): string | null => {
    const count = left;
    seen.clear();
    left = 0;
    if (count === 0) return null;
    return count === 1 ? '… the same once more' : `… the same ${count} more times`;
  };
  return {
    take(event) {
      const trouble = troubleOf(event);
      if (trouble === null) return { isRepeat: false, before: isRecovery(event) ? end() : null };
      const isRepeat = seen.has(trouble);
      if (isRepeat) left += 1;
      seen.add(trouble);
      return { isRepeat, before: null };
    },
    end,
  };
}

function troubleOf(event: EventEnvelope): string | null {
  if (event.type === 'agent.said' && event.isWaiting === true) return `waits ${withoutCounts(event.text)}`;
  if (event.type !== 'model.called' || event.outcome === 'answered' || event.outcome === 'left') return null;
  return `${event.outcome} ${event.detail ?? ''}`;
}

function isRecovery({ type }: EventEnvelope): boolean {
  return type === 'model.called' || type === 'tool.started' || type === 'agent.said';
}

/** Two that differ in the try (`2/5`) or in a time alone are the same. Any other number is a reason, as HTTP 401 is. */
function withoutCounts(text: string): string {
  return text.replaceAll(TRIES, '#').replaceAll(TIMES, '#');
}
