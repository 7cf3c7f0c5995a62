/** The end of what a run says: its events in words, or what its agent prints. */
import type { Caisson } from '@caisson/engine';
import { createNews } from '../format-news.ts';
import { textLines, wrapLine, type Line, type Lines, type Style } from '../painted.ts';
import type { TailName } from './top-state.ts';

const MAX_LINES = 2000;
/** A line that does not end. */
const MAX_OPEN_CHARACTERS = 16_384;

export interface Tail {
  lines(): Lines;
  stop(): void;
}

interface TailOptions {
  readonly style: Style;
  columns(): number;
  onChange(): void;
  onError(error: unknown): void;
}

export function tailRun(caisson: Caisson, runId: string, name: TailName, options: TailOptions): Tail {
  const stopping = new AbortController();
  const { signal } = stopping;
  let kept: Line[] = [];
  let open = '';
  const add = (lines: Lines): void => {
    if (signal.aborted) return;
    kept = [...kept, ...lines].slice(-MAX_LINES);
    options.onChange();
  };
  const wrap = (text: string): Lines =>
    textLines(text.replaceAll('\t', '    ')).flatMap((each) => wrapLine(each, options.columns() - 1, 0));
  const readEvents = async (): Promise<void> => {
    const format = createNews(options.style, () => options.columns() - 1);
    for await (const event of caisson.follow(runId, { signal })) add(format(event));
  };
  const readLog = async (stream: 'stdout' | 'stderr'): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of caisson.followLog(runId, stream, { signal })) {
      const text = open + decoder.decode(chunk, { stream: true });
      const end = text.lastIndexOf('\n');
      open = text.slice(end + 1).slice(-MAX_OPEN_CHARACTERS);
      add(end === -1 ? [] : wrap(text.slice(0, end)));
    }
  };
  const reading = name === 'events' ? readEvents() : readLog(name);
  reading.catch((error: unknown) => {
    if (!signal.aborted) options.onError(error);
  });
  return {
    lines: () => (open === '' ? kept : [...kept, ...wrap(open)]),
    stop: () => stopping.abort(),
  };
}
