import type { EventEnvelope } from '@caisson/protocol';
import { formatEvent } from './format-event.ts';
import { line, type Lines, type Style } from './painted.ts';

export interface NewsOptions {
  /** What stands before each event. */
  nameOf?(event: EventEnvelope): string;
  /** Also computes of a sense that emitted nothing and went as the one before. */
  readonly isVerbose?: boolean;
}

/**
 * The lines of an event for a person, who sees the day once, the time of each event, and of what is live only news: each
 * tool call is an event of its own, a heartbeat says that nothing has changed, and a sense computes every few seconds.
 * Empty for what is no news.
 */
export function createNews(
  style: Style,
  columns: () => number,
  { nameOf = () => '', isVerbose = false }: NewsOptions = {},
): (event: EventEnvelope) => Lines {
  let day = '';
  let progress = '';
  const failures = new Map<string, string>();
  return (event) => {
    if (event.type === 'worker.heartbeat') return [];
    if (event.type === 'sense.computed') {
      const { sense, signals, failure = '' } = event;
      const isRepeat = signals.length === 0 && failure === (failures.get(sense) ?? '');
      failures.set(sense, failure);
      if (isRepeat && !isVerbose) return [];
    }
    if (event.type === 'worker.progress') {
      const news = `${event.phase} ${event.message ?? ''}`;
      if (news === progress || (event.message === undefined && progress.startsWith(`${event.phase} `)))
        return [];
      progress = news;
    }
    const isNewDay = event.at.slice(0, 10) !== day;
    day = event.at.slice(0, 10);
    const name = nameOf(event);
    const [first = '', ...more] = formatEvent(event, style, columns() - name.length);
    return [
      ...(isNewDay ? [style.dim(`${day}, times in UTC`)] : []),
      line`${style.dim(name)}${first}`,
      ...more,
    ];
  };
}
