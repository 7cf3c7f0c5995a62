/** The patch in readable form: bytes that are not UTF-8 are replaced, binary bodies are named, not shown. */
export function diffText(patch: Buffer): string {
  return patch
    .toString('utf8')
    .replace(BINARY_BODY, (_body, bytes: string) => `Binary content (${bytes} bytes)\n`);
}

/** The new content comes first, then what would restore the old. */
const BINARY_BODY =
  /^GIT binary patch\n(?:literal|delta) (\d+)\n(?:[A-Za-z][^\n]*\n)+\n(?:(?:literal|delta) \d+\n(?:[A-Za-z][^\n]*\n)+\n?)?/gm;
