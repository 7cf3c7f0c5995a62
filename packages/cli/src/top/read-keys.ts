/** The keyboard of a raw terminal. */
import { parseKeys, type Key } from './parse-keys.ts';

export interface Keyboard {
  /** Of the terminal's mode: a stopped process leaves it to the shell, and takes it again. */
  release(): void;
  take(): void;
  stop(): void;
}

/** `onEnd`: the terminal is gone. */
export function readKeys(
  onKey: (key: Key) => void,
  onEnd: () => void,
  input: NodeJS.ReadStream = process.stdin,
): Keyboard {
  const onData = (chunk: Buffer | string): void => parseKeys(chunk.toString()).forEach(onKey);
  const setRaw = (isRaw: boolean): void => {
    try {
      input.setRawMode(isRaw);
    } catch {
      onEnd(); // a terminal that was closed has no mode
    }
  };
  input.on('data', onData).on('end', onEnd).on('error', onEnd);
  setRaw(true);
  input.resume();
  return {
    release: () => setRaw(false),
    take: () => setRaw(true),
    stop() {
      input.off('data', onData).off('end', onEnd).pause();
      setRaw(false);
    },
  };
}
