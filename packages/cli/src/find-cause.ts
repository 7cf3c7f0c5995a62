/** What a reader of an error with its stack wants first: the line that names the error. */

const STACK_LINE = /^\s+at /;
const NAMED = /(?:^|\s)[A-Za-z]*(?:Error|Exception)(?: \[\w+\])?: \S/;

/**
 * The text without its stack, on one line, from the last line that names an error on: code that does not load is printed
 * before its error. A text without an error stays whole.
 */
export function findCause(text: string): string {
  const lines = text.split('\n');
  const stack = lines.findIndex((line) => STACK_LINE.test(line));
  const said = stack === -1 ? lines : lines.slice(0, stack);
  const named = said.findLastIndex((line) => NAMED.test(line));
  return said
    .slice(Math.max(0, named))
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');
}
