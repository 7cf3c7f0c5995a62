/**
 * The whole terminal, on its alternate screen, which is left whatever ends the process.
 *
 * FS1  Only lines that changed are written, in one synchronized update, so that nothing flickers.
 * FS2  The screen is left before anything else is printed: at the exit, and before an uncaught error is reported.
 *      Its caller turns signals into an exit; SIGKILL leaves no time for that.
 */
import type { Line, Lines } from './painted.ts';

export interface ScreenSize {
  readonly rows: number;
  readonly columns: number;
}

export interface FullScreen {
  size(): ScreenSize;
  /** The lines from the top; what is longer than the screen is left out, what is wider is cut by the terminal. */
  draw(lines: Lines): void;
  /** What is there is no longer known: the next draw writes all of it. */
  forget(): void;
  /** Leaves the screen as it was before. A second call does nothing. */
  close(): void;
}

interface Terminal {
  put(text: string): void;
  render(line: Line): string;
  size(): ScreenSize;
  /** Calls it when the size has changed; returns a function that ends that. */
  onResize(listener: () => void): () => void;
}

/** Alternate screen, no cursor, and a line that is too wide is cut instead of wrapped. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const BEGIN_UPDATE = '\u001b[?2026h';
const END_UPDATE = '\u001b[?2026l';
const ERASE_ALL = '\u001b[2J';
const ERASE_REST = '\u001b[K';

/** `onResize`: the size has changed, and the next draw writes all of the screen. */
export function openFullScreen(
  { put, render, size, onResize: listen }: Terminal,
  onResize: () => void,
): FullScreen {
  let shown: readonly string[] | null = null;
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    offResize();
    process.off('exit', close).off('uncaughtExceptionMonitor', close);
    put(LEAVE);
  };
  const offResize = listen(() => {
    shown = null;
    onResize();
  });
  process.on('exit', close).on('uncaughtExceptionMonitor', close); // FS2
  put(ENTER);
  return {
    size,
    draw(lines) {
      if (!isOpen) return;
      const wanted = lines.slice(0, size().rows).map(render);
      const update = compose(shown, wanted);
      shown = wanted;
      if (update !== '') put(`${BEGIN_UPDATE}${update}${END_UPDATE}`);
    },
    forget() {
      shown = null;
    },
    close,
  };
}

/** What turns one screen into the other; empty if they are the same (FS1). */
export function compose(shown: readonly string[] | null, wanted: readonly string[]): string {
  const rows = Math.max(shown?.length ?? 0, wanted.length);
  const changes = Array.from({ length: rows }, (_, row) => {
    const text = wanted[row] ?? '';
    return text === (shown?.[row] ?? '') ? '' : `\u001b[${row + 1};1H${text}${ERASE_REST}`;
  }).join('');
  return shown === null ? ERASE_ALL + changes : changes;
}
