/** A model that is down is reported again and again, by the broker and by its agent: each is shown once, then counted. */
import type { EventEnvelope } from '@caisson/protocol';

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

/** Two that differ in a number alone (a time, `Reconnecting… 2/5`) are the same. */
function troubleOf(event: EventEnvelope): string | null {
  if (event.type === 'agent.said' && event.isWaiting === true) return withoutNumbers(event.text);
  if (event.type !== 'model.called' || event.outcome === 'answered' || event.outcome === 'left') return null;
  return withoutNumbers(`${event.outcome} ${event.detail ?? ''}`);
}

function isRecovery({ type }: EventEnvelope): boolean {
  return type === 'model.called' || type === 'tool.started' || type === 'agent.said';
}

function withoutNumbers(text: string): string {
  return text.replaceAll(/\d+(?:\.\d+)?/g, '#');
}
