/** Splits an agent's stdout into lines. A line past the cap is skipped, so memory stays limited. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

export interface LineSplitter {
  push(chunk: Buffer): void;
  end(): void;
}

export function createLineSplitter(onLine: (line: string) => void): LineSplitter {
  let parts: Buffer[] = [];
  let held = 0;
  let isSkipping = false;

  const hold = (part: Buffer): void => {
    if (isSkipping || part.length === 0) return;
    if (held + part.length > MAX_LINE_BYTES) {
      isSkipping = true;
      parts = [];
      held = 0;
      return;
    }
    parts.push(Buffer.from(part));
    held += part.length;
  };
  const finish = (): void => {
    if (!isSkipping && held > 0) onLine(Buffer.concat(parts).toString('utf8'));
    parts = [];
    held = 0;
    isSkipping = false;
  };
  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        hold(chunk.subarray(from, at));
        finish();
        from = at + 1;
      }
      hold(chunk.subarray(from));
    },
    end: finish,
  };
}
