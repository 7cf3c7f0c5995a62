/** The last line of a terminal: a status that changes, or a prompt behind which a person types. */
import type { Line } from './painted.ts';

export interface LastLine {
  /** Null removes it. While there is a prompt, none is drawn. */
  status(text: Line | null): void;
  prompt(text: Line): void;
  endPrompt(how: 'answered' | 'dropped'): void;
  /**
   * Writes above the line; a status is gone then. Behind a prompt a person types, and the terminal has what was typed: the
   * write waits until the prompt ends.
   */
  above(write: () => void): void;
}

interface Terminal {
  put(text: string): void;
  render(line: Line): string;
  /** Whether the last line is taken by what a command prints. */
  isTaken(): boolean;
}

const ERASE = '\r\u001b[2K';

export function createLastLine({ put, render, isTaken }: Terminal): LastLine {
  let hasStatus = false;
  let prompted: Line | null = null;
  let waiting: (() => void)[] = [];
  const status = (text: Line | null): void => {
    if (prompted !== null) return;
    if (hasStatus) put(ERASE);
    hasStatus = text !== null && !isTaken();
    if (hasStatus) put(render(text ?? ''));
  };
  return {
    status,
    prompt(text) {
      status(null);
      prompted = text;
      put(render(text));
    },
    endPrompt(how) {
      if (prompted !== null && how === 'dropped') put(ERASE);
      prompted = null;
      const writes = waiting;
      waiting = [];
      for (const write of writes) write();
    },
    above(write) {
      if (prompted !== null) return void waiting.push(write);
      status(null);
      write();
    },
  };
}
