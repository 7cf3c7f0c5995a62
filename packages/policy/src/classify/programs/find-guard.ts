/**
 * Which tests of a `find` limit what one of its actions gets. `-o` and `,` begin another branch, a test after an action
 * does not limit it, and `!` negates a test: in all of these a name on the line says nothing about what is deleted.
 */
const NAME_TEST = new Set(['-name', '-iname', '-path', '-wholename', '-regex']);
const NEGATION = new Set(['!', '-not']);
const BRANCH = new Set(['-o', '-or', ',']);

/** Whether everything that reaches the word at `end` has a name that is accepted. */
export function isGuarded(
  args: readonly string[],
  end: number,
  accepts: (pattern: string, test: string) => boolean,
): boolean {
  for (let at = end - 1; at >= 0; at -= 1) {
    const word = args[at] ?? '';
    if (isPattern(args, at)) {
      if (!NEGATION.has(args[at - 2] ?? '') && accepts(word, args[at - 1] ?? '')) return true;
      at -= 1;
    } else if (BRANCH.has(word)) {
      // The branches before this one do not limit it; tests outside a bracket do.
      at = openingBefore(args, at);
    } else if (word === ')') {
      const open = openingBefore(args, at);
      const inside = args.slice(open + 1, at);
      const isTurned = NEGATION.has(args[open - 1] ?? '');
      if (
        open >= 0 &&
        !isTurned &&
        branchesOf(inside).every((branch) => isGuarded(branch, branch.length, accepts))
      )
        return true;
      at = open;
    }
  }
  return false;
}

/** The patterns of all name tests that are not negated. */
export function namePatterns(args: readonly string[]): string[] {
  return args.filter((_, at) => isPattern(args, at) && !NEGATION.has(args[at - 2] ?? ''));
}

function isPattern(args: readonly string[], at: number): boolean {
  return NAME_TEST.has(args[at - 1] ?? '') && !NAME_TEST.has(args[at - 2] ?? '');
}

/** The bracket that is open at a word; -1 when there is none. */
function openingBefore(args: readonly string[], from: number): number {
  let depth = 0;
  for (let at = from - 1; at >= 0; at -= 1) {
    if (isPattern(args, at)) continue;
    if (args[at] === ')') depth += 1;
    if (args[at] === '(' && (depth -= 1) < 0) return at;
  }
  return -1;
}

function branchesOf(args: readonly string[]): string[][] {
  const branches: string[][] = [[]];
  let depth = 0;
  for (const [at, word] of args.entries()) {
    if (word === '(') depth += 1;
    if (word === ')') depth -= 1;
    if (depth === 0 && BRANCH.has(word) && !isPattern(args, at)) branches.push([]);
    else branches.at(-1)?.push(word);
  }
  return branches;
}
