import picomatch from 'picomatch';
import { matchesWords, splitWords } from './word-pattern.ts';

export interface PathPattern {
  /** Without a leading `./` or a slash at its end. */
  readonly pattern: string;
  readonly matches: (path: string) => boolean;
}

const MAX_PATTERN_CHARACTERS = 1024;
const MAX_CHOICES = 64;
const MAX_WILD = 2;
/** Of one name on a disk. */
const MAX_NAME_CHARACTERS = 255;
const OTHER_SIGNS = /[[\]{}()!\\"|]/;

/**
 * A pattern without a slash means that name in any folder, unless it begins with `./`; a folder means all that is in it.
 * One of names, `*`, `?`, `**` and `{a,b}` is compared in a time that no path can make long. One with other signs becomes a
 * regular expression, and `findPatternProblem` says which would take too long: that one matches nothing.
 */
export function compilePattern(given: string): PathPattern {
  const pattern = given.replace(/^\.\//, '').replace(/\/$/, '');
  const isAnchored = pattern.includes('/') || given.startsWith('./');
  const choices = expandChoices(pattern) ?? [];
  const patterns = choices.flatMap((each) => [
    ...[each, `${each}/**`],
    ...(isAnchored ? [] : [`**/${each}`, `**/${each}/**`]),
  ]);
  if (choices.some((each) => OTHER_SIGNS.test(each)))
    return { pattern, matches: compileOther(pattern, patterns) };
  const words = patterns.map(splitWords);
  return { pattern, matches: (path) => words.some((each) => matchesWords(each, path)) };
}

/** Why a pattern is refused, as the end of a sentence about it; null for one that can be used. */
export function findPatternProblem(given: string): string | null {
  if (given.length > MAX_PATTERN_CHARACTERS) return `has more than ${MAX_PATTERN_CHARACTERS} characters`;
  const choices = expandChoices(given);
  if (choices === null) return `stands for more than ${MAX_CHOICES} patterns`;
  const other = choices.filter((each) => OTHER_SIGNS.test(each));
  if (other.some((each) => /\+|\*\(|\)[*?]|\([^)]*\(/.test(each)))
    return 'repeats a group, or has one in another, which could take too long; write several patterns';
  return other.some((each) => countWild(each) > MAX_WILD)
    ? `has more than ${MAX_WILD} stars beside brackets, which could take too long; write several patterns`
    : null;
}

function countWild(pattern: string): number {
  return pattern.match(/\*+|!\(|[\])]\?/g)?.length ?? 0;
}

function compileOther(pattern: string, patterns: readonly string[]): (path: string) => boolean {
  if (findPatternProblem(pattern) !== null) return () => false;
  const matches = picomatch([...patterns], { dot: true });
  const isName = (name: string): boolean => name.length <= MAX_NAME_CHARACTERS;
  return (path) => path.split('/').every(isName) && matches(path);
}

/** `a{b,c}` as `ab` and `ac`; null for too many. */
function expandChoices(pattern: string): string[] | null {
  let open = [pattern];
  for (;;) {
    const next = open.flatMap((each) => {
      const found = /\{([^{}]*,[^{}]*)\}/.exec(each);
      if (found === null || /[\\"]/.test(each)) return [each];
      const [whole, inner = ''] = found;
      const [before, after] = [each.slice(0, found.index), each.slice(found.index + whole.length)];
      return inner.split(',').map((choice) => before + choice + after);
    });
    if (next.length > MAX_CHOICES) return null;
    if (next.every((each, at) => each === open[at])) return next;
    open = next;
  }
}
