import picomatch from 'picomatch';

export interface PathPattern {
  /** Without a leading `./` or a slash at its end. */
  readonly pattern: string;
  readonly matches: (path: string) => boolean;
}

/** A pattern without a slash means that name in any folder, unless it begins with `./`; a folder means all that is in it. */
export function compilePattern(given: string): PathPattern {
  const pattern = given.replace(/^\.\//, '').replace(/\/$/, '');
  const isAnchored = pattern.includes('/') || given.startsWith('./');
  const patterns = [pattern, `${pattern}/**`, ...(isAnchored ? [] : [`**/${pattern}`, `**/${pattern}/**`])];
  return { pattern, matches: picomatch(patterns, { dot: true }) };
}
