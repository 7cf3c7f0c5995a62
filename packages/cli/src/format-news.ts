import type { EventEnvelope } from '@caisson/protocol';
import { formatEvent } from './format-event.ts';
import { line, type Lines, type Style } from './painted.ts';

/**
 * The lines of an event for a person, who sees the day once, the time of each event, and of what is live only news: each
 * tool call is an event of its own, and a heartbeat says that nothing has changed. Empty for what is no news.
 */
export function createNews(
  style: Style,
  columns: () => number,
  nameOf: (event: EventEnvelope) => string = () => '',
): (event: EventEnvelope) => Lines {
  let day = '';
  let progress = '';
  return (event) => {
    if (event.type === 'worker.heartbeat') return [];
    if (event.type === 'worker.progress') {
      const news = `${event.phase} ${event.message ?? ''}`;
      if (news === progress || (event.message === undefined && progress.startsWith(`${event.phase} `)))
        return [];
      progress = news;
    }
    const isNewDay = event.at.slice(0, 10) !== day;
    day = event.at.slice(0, 10);
    const [first = '', ...more] = formatEvent(event, style, columns());
    return [
      ...(isNewDay ? [style.dim(`${day}, times in UTC`)] : []),
      line`${style.dim(nameOf(event))}${first}`,
      ...more,
    ];
  };
}
