/**
 * Commands that a project's file names run on the host, so only what can be looked at may run. Such a command is plain
 * words and operators; it runs in `/`, where no file of the project is reached by chance (a Makefile, `./x`, `$PWD`),
 * and a word that names a file of the project is written out. These files are then all that it has of the project, and
 * they are part of what the user agrees to.
 */
import { statSync } from 'node:fs';
import { relative, resolve } from 'node:path';

const OPERATOR = /^(\||\|\||&&|;|<|>|2>|>>)$/;
/** Nothing that a shell expands, and no way round the words: quotes hold plain text. */
const PLAIN_WORD = /^(?:[^\s$`*?[\]~\\'"(){}#!;|&<>]|'[^'$`\\]*'|"[^"$`\\]*")+$/;

/** Whether nothing of the command can reach a file that it does not name. */
export function isPlainCommand(command: string): boolean {
  return splitWords(command) !== null;
}

/** The command with its files written out. One that is not plain stays as it is: it cannot be agreed to. */
export function anchorCommand(command: string, projectRoot: string): string {
  const words = splitWords(command);
  if (words === null) return command;
  return `cd / && ${words.map((word) => placeWord(word, projectRoot)).join(' ')}`;
}

/** Null where the command is more than words and operators. */
function splitWords(command: string): string[] | null {
  const words = command.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? [];
  return words.every((word) => OPERATOR.test(word) || PLAIN_WORD.test(word)) ? words : null;
}

function placeWord(word: string, projectRoot: string): string {
  if (OPERATOR.test(word)) return word;
  const path = resolve(projectRoot, word);
  const isInside = !relative(projectRoot, path).startsWith('../');
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  return isInside && isFile ? `'${path.replaceAll("'", String.raw`'\''`)}'` : word;
}
