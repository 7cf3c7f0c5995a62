/** What a reader of an error with its stack wants first: the line that names the error. */

const STACK_LINE = /^\s+at /;
/** Before the code that does not load. */
const PLACE = /(?:^|\s)(?:file:\/\/)?(\/\S+:\d+)$/;
const NAMED = /(?:^|\s)[A-Za-z]*(?:Error|Exception)(?: \[\w+\])?: \S/;

/**
 * The text without its stack, on one line, from the last line that names an error on: code that does not load, and its
 * place, are printed before its error. A text without an error stays whole.
 */
export function findCause(text: string): string {
  const lines = text.split('\n');
  const stack = lines.findIndex((line) => STACK_LINE.test(line));
  const said = stack === -1 ? lines : lines.slice(0, stack);
  const named = said.findLastIndex((line) => NAMED.test(line));
  const cause = said
    .slice(Math.max(0, named))
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');
  const place = said.slice(0, Math.max(0, named)).flatMap((line) => PLACE.exec(line)?.[1] ?? [])[0];
  return place === undefined ? cause : `${cause} (${place})`;
}
