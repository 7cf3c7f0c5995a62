/** Names of files as git writes them: in quotes, with escapes, where they have special characters. */
const ESCAPES: Readonly<Record<string, number>> = {
  ...{ a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 },
  ...{ '"': 34, '\\': 92 },
};

export function decodeGitPath(text: string): string {
  if (!text.startsWith('"') || !text.endsWith('"') || text.length < 2) return text;
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  const inner = text.slice(1, -1);
  for (const [part] of inner.matchAll(/\\[0-7]{3}|\\.|[^\\]+/gs)) {
    if (!part.startsWith('\\')) bytes.push(...encoder.encode(part));
    else if (part.length === 4) bytes.push(Number.parseInt(part.slice(1), 8) & 255);
    else bytes.push(ESCAPES[part.slice(1)] ?? part.charCodeAt(1));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** The two names of a `diff --git` line. Without quotes they are alike, unless other lines say better. */
export function parseHeaderPaths(text: string): { oldPath: string; path: string } {
  const quoted =
    /^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*")$/.exec(text) ?? /^("(?:[^"\\]|\\.)*") (\S.*)$/.exec(text);
  if (quoted !== null) return { oldPath: strip(quoted[1] ?? ''), path: strip(quoted[2] ?? '') };
  const half = (text.length - 1) / 2;
  if (Number.isInteger(half) && text.slice(2, half) === text.slice(half + 3))
    return { oldPath: text.slice(2, half), path: text.slice(half + 3) };
  const middle = text.indexOf(' b/');
  if (middle === -1) return { oldPath: strip(text), path: strip(text) };
  return { oldPath: strip(text.slice(0, middle)), path: strip(text.slice(middle + 1)) };
}

function strip(name: string): string {
  return decodeGitPath(name).replace(/^[ab]\//, '');
}
