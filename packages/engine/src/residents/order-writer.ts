/** Writes the orders of a worker in their order. What it does not read waits here, with one listener for all of it. */
import type { Writable } from 'node:stream';
import { corkTurn } from '@caisson/ground';

export interface OrderWriter {
  /** Resolves with true when the worker has room for more, and with false when it takes nothing any more. */
  write(text: string): Promise<boolean>;
}

export function createOrderWriter(control: Writable): OrderWriter {
  const waiting: { readonly text: string; taken(isTaken: boolean): void }[] = [];
  /** Those that are written and wait until there is room again. */
  const written: ((isTaken: boolean) => void)[] = [];
  const writeMore = (): void => {
    corkTurn(control);
    while (control.writable && !control.writableNeedDrain) {
      const next = waiting.shift();
      if (next === undefined) return;
      if (control.write(next.text)) next.taken(true);
      else written.push(next.taken);
    }
  };
  const settle = (isTaken: boolean): void => {
    for (const taken of written.splice(0)) taken(isTaken);
  };
  control.on('drain', () => {
    settle(true);
    writeMore();
  });
  control.on('close', () => {
    written.push(...waiting.splice(0).map(({ taken }) => taken));
    settle(false);
  });
  return {
    write: (text) =>
      new Promise((taken) => {
        if (!control.writable) return taken(false);
        waiting.push({ text, taken });
        writeMore();
      }),
  };
}
