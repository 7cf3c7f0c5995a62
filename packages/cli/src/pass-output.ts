/** What a command prints, as it prints it: unchanged into a file or a pipe, escaped on a terminal. */
import { printableLines } from './printable.ts';
import { writeAll } from './write-all.ts';

export interface OutputStreams {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

type Name = keyof OutputStreams;

export interface Passer {
  pass(name: Name, parts: readonly Uint8Array[]): Promise<void>;
  /** Whether the terminal's last line is a part of the command's, or is being written. */
  isInLine(): boolean;
  /** Whether a line break is missing before something else; asked once. */
  leaveLine(): boolean;
}

/** `onLost` is called once for each stream that has no room for what is printed. */
export function createPasser(streams: OutputStreams, onLost: (name: Name, error: Error) => void): Passer {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const gone = new Set<Name>();
  let isInLine = false;
  return {
    isInLine: () => isInLine,
    leaveLine() {
      const wasInLine = isInLine;
      isInLine = false;
      return wasInLine;
    },
    async pass(name, parts) {
      if (gone.has(name)) return;
      const { isTTY } = streams[name];
      const decode = (): string => decoders[name].decode(Buffer.concat(parts), { stream: true });
      const shown = isTTY ? [Buffer.from(toPrintable(decode()))] : parts;
      isInLine ||= isTTY;
      const isTaken = await writeAll(FDS[name], shown).catch((error: unknown) => {
        onLost(name, error as Error);
        return false;
      });
      if (!isTaken) gone.add(name);
      const last = shown.at(-1)?.at(-1);
      if (isTTY && last !== undefined) isInLine = last !== NEWLINE;
    },
  };
}

const FDS = { stdout: 1, stderr: 2 };
const NEWLINE = 0x0a;

/** A bar that is drawn over itself becomes lines. */
function toPrintable(text: string): string {
  return printableLines(text.replaceAll(/\r(?!\n)/g, '\n')).join('\n');
}
